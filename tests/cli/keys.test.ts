// Keys that the command line asks for, as the account page creates them.

import { expect, test } from 'bun:test';
import { newPage } from '../support/browser.ts';
import { latchkey, newHome, runIn, storeLogin } from '../support/cli.ts';
import { giveSession } from '../support/people.ts';
import { startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const service = shared(() => startService({ env: { LATCHKEY_RATE_LIMITS: 'off' } }));

test('the printed address opens the account page with the key filled in, and the key signs a terminal in', async () => {
  const home = newHome({ LATCHKEY_SERVER: service.url });
  const email = 'ada@asked.example';
  await storeLogin(home, service.url, email);
  const asked = ['--name', "ada's & build", '--scope', 'email', '--scope', 'profile', '--expires', '7d'];
  const { stdout } = await latchkey(home, 'keys', 'create', ...asked);
  const list = async () => JSON.parse((await latchkey(home, 'keys', '--json')).stdout).keys;
  expect(await list()).toEqual([]);

  const page = await newPage();
  await giveSession(page, service.url, email);
  await page.goto(stdout.trim());
  const section = page.getByRole('region', { name: 'API keys', exact: true });
  await section.getByRole('button', { name: 'Create API key', exact: true }).click();
  const key = await page.getByLabel('Your new API key').inputValue();
  await page.context().close();

  expect(await list()).toEqual([expect.objectContaining({ name: "ada's & build", scope: 'email profile' })]);
  const [{ id, created_at, expires_at }] = await list();
  expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(7 * 86_400_000);
  const other = newHome({ LATCHKEY_SERVER: service.url, KEY: key });
  const stored = await runIn(other, ['bash', '-c', 'echo "$KEY" | latchkey login --with-token']);
  expect(stored.code).toBe(0);
  expect((await latchkey(other, 'whoami')).stdout).toContain(email);
  expect((await latchkey(home, 'keys', 'remove', id)).code).toBe(0);
  expect((await latchkey(other, 'whoami')).code).toBe(3);
});

test('a key without a secret needs the claims of its issuer, and says which before it opens a page', async () => {
  const home = newHome({ LATCHKEY_SERVER: service.url });
  const create = (...args: string[]) =>
    latchkey(home, 'keys', 'create', '--name', 'ci', '--scope', 'profile', '--expires', '7d', ...args);
  const github = 'https://token.actions.githubusercontent.com';
  for (const [issuer, claim, missing] of [
    ['https://cluster.example', 'namespace=build', 'must have sub.'],
    [github, 'repository_id=1', 'must have repository_owner_id.'],
    ['https://gitlab.com', 'ref=main', 'must have project_id.'],
    ['https://cluster.example', 'aud=x', 'must not have aud, which is checked anyway.'],
    ['github', 'sub=x', `GitHub's is ${github}.`],
  ] as const) {
    const { code, stdout, stderr } = await create('--issuer', issuer, '--claim', claim);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(missing)]);
  }
  const { code, stdout } = await create(
    '--issuer',
    'https://cluster.example',
    '--claim',
    'sub=build:default',
  );
  expect([code, new URL(stdout).searchParams.getAll('claim')]).toEqual([0, ['sub=build:default']]);
});
