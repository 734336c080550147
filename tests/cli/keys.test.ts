// Keys that the command line asks for, as the account page creates them.

import { expect, test } from 'bun:test';
import { newPage } from '#support/browser.ts';
import { latchkey, newHome, runIn, storeLogin } from '#support/cli.ts';
import { giveSession } from '#support/people.ts';
import { startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const service = shared(() => startService());

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
