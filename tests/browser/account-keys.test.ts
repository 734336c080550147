// Keys on the account page, in a real browser against the real service. What the form asks for and sends:
// packages/dashboard/src/account/key-request.test.ts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, untilIdle } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { changesBy, confirmByCode, pressedEarly, signIn, signInHere } from '#support/people.ts';
import { changeStore, registerService } from '#support/service.ts';

const section = (page: Page) => page.getByRole('region', { name: 'API keys', exact: true });
const says = (page: Page, text: string) => section(page).getByText(text).waitFor();
const press = (page: Page, name: string) => section(page).getByRole('button', { name, exact: true }).click();
const name = (page: Page) => page.getByLabel('Name', { exact: true });
const items = (page: Page) => page.locator('#keys > li');
const shownKey = (page: Page) => page.getByLabel('Your new API key').inputValue();
const profileFor = (token: string) => service.ask('GET', '/me', { token });

/** The account page of a new user, with the form that a link fills in. */
async function openAccount(email: string, link: [string, string][] = []): Promise<Page> {
  const page = await newPage();
  await signIn(page, service.url, email);
  if (link.length > 0)
    await page.goto(`${service.url}/account?${new URLSearchParams([['new-key', '1'], ...link])}`);
  await untilIdle(page);
  return page;
}

test('a key is created with what was ticked, after a confirmation if the sign-in is not recent, is shown once and whole, and works until it is removed', async () => {
  const email = 'create@example.com';
  const page = await openAccount(email);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  changeStore(service, 'UPDATE sessions SET created_at = created_at - 3600000');
  const changes = changesBy(page.context());
  await press(page, 'Create API key');
  await press(page, 'Create API key');
  await says(page, 'Enter a name.');
  expect(await name(page).getAttribute('aria-invalid')).toBe('true');
  await name(page).fill('night build');
  await press(page, 'Create API key');
  await says(page, 'Choose what the key may do.');
  await page.waitForFunction(() => (document.activeElement as HTMLInputElement).value === '*');
  expect(changes).toEqual([]);
  await page.getByLabel('See your email address').check();
  await page.getByLabel('Read the tickets of your organizations').check();
  await page.getByLabel('Expires after').selectOption('7 days');
  await press(page, 'Create API key');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await says(page, 'Nothing was changed. Confirm your identity');
  await press(page, 'Create API key');
  await confirmByCode(page, service.url, email);
  await says(page, "you won't see it again");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('API key created: night build');
  const key = await shownKey(page);
  await page.setViewportSize({ width: 320, height: 568 });
  const isWhole = (field: HTMLElement) => field.scrollHeight <= field.clientHeight;
  expect(await page.getByLabel('Your new API key').evaluate(isWhole)).toBe(true);
  await press(page, 'Copy key');
  await says(page, 'Copied.');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key);
  expect(await profileFor(key)).toMatchObject({ status: 200, body: { email } });

  await press(page, "I've stored it");
  expect(await page.content()).not.toContain(key);
  await page.reload();
  const text = await items(page).innerText();
  expect(text).toContain('See your email address · Read the tickets of your organizations (Tickets)');
  expect(text).toContain('Last used');
  expect(await page.content()).not.toContain(key.slice(6));
  await page.getByText(/^API key “.night build.” created/).waitFor();

  await press(page, 'Remove');
  await press(page, 'Cancel');
  expect((await profileFor(key)).status).toBe(200);
  await press(page, 'Remove');
  await press(page, 'Remove API key');
  await page.getByText('API key removed: night build').waitFor();
  expect(await items(page).count()).toBe(0);
  expect((await profileFor(key)).status).toBe(401);
});

test('a link fills in the form, also after a sign-in, and creates nothing without a click; what it asks for is shown as text, and an undeclared scope is shown as unknown and never becomes a wider key', async () => {
  const page = await newPage();
  const changes = changesBy(page.context());
  const [evil, resource] = ['<img src=x onerror=alert(1)>', 'https://builds.example/api'];
  const scope = `tickets:read email ${evil.replaceAll(' ', '')}`;
  const link = new URLSearchParams({ 'new-key': '1', name: evil, scope, resource, expires: '43200' });
  await page.goto(`${service.url}/account?${link}`);
  await signInHere(page, service.url, 'linked@example.com');
  await says(page, 'A program or a link filled in this form');
  await page.waitForFunction(() => document.activeElement?.id === 'new-key-heading');
  expect(await name(page).inputValue()).toBe(evil);
  expect(await page.locator('main img').count()).toBe(0);
  const ticked = page.locator('input[name="key-scope"]:checked');
  const values = await ticked.evaluateAll((boxes) => boxes.map((box) => (box as HTMLInputElement).value));
  expect(values.toSorted()).toEqual(scope.split(' ').toSorted());
  expect(await page.locator('#key-lifetime > option:checked').innerText()).toBe('12 hours');
  await page.getByLabel('Unknown: no service offers this.').uncheck();
  await pressedEarly(page, 'Create API key');
  await untilIdle(page);
  expect(changes).not.toContain('POST /keys');

  await page.reload();
  await press(page, 'Create API key');
  await says(page, 'Clear the entries that no service offers.');
  await page.getByLabel('Unknown: no service offers this.').uncheck();
  await press(page, 'Create API key');
  await says(page, "That service isn't known here");
  const where = page.getByLabel('Where it works');
  expect([await where.inputValue(), await items(page).count()]).toEqual([resource, 0]);
  await where.selectOption({ label: 'Only Tickets (https://tickets.example/api)' });
  const everything = page.getByLabel('Do everything you can do');
  await everything.check();
  expect(await page.getByLabel('See your email address').isDisabled()).toBe(true);
  await everything.uncheck();
  await press(page, 'Create API key');
  expect(await profileFor(await shownKey(page))).toMatchObject({
    status: 403,
    body: { error: 'insufficient_scope' },
  });
  expect(page.url()).toBe(`${service.url}/account`);
  await page.reload();
  await items(page).getByText('Only Tickets').waitFor();
  expect(await items(page).innerText()).toContain('See your email address');
  expect(await name(page).count()).toBe(0);
});

test('a key without a secret trusts a job that its claims identify, and the list says how to use it', async () => {
  const issuer = 'https://token.actions.githubusercontent.com';
  await registerService(service, 'Boards', '--resource', 'https://boards.example');
  const page = await openAccount('secretless@example.com', [
    ['name', 'release'],
    ['scope', '* identity'],
    ['resource', 'https://boards.example/'],
    ['issuer', issuer],
    ['claim', 'repository_id=784120233'],
  ]);
  const ticked = ['Do everything you can do', 'Prove to other systems that it acts for you'];
  for (const label of ticked) expect(await page.getByLabel(label).isChecked()).toBe(true);
  const where = page.getByLabel('Where it works').locator('option:checked');
  expect(await where.innerText()).toBe('Only Boards (https://boards.example)');
  await says(page, 'Any job with these claims can act as you.');
  await says(page, 'only your own jobs can use the key: repository_owner_id.');
  await page.getByLabel('Issuer').fill('https://ci.example');
  await page.getByLabel('Required claims').fill('sub=build');
  await press(page, 'Create API key');
  await says(page, "The key can't trust these tokens: issuer is not trusted by this service");
  await page.getByLabel('Issuer').fill(issuer);
  const claims = ['repository_id=784120233', 'repository_owner_id=1099001', 'ref=refs/heads/main'];
  await page.getByLabel('Required claims').fill(claims.join('\n'));
  await press(page, 'Create API key');
  await page.getByText('API key created: release').waitFor();
  expect(await page.getByLabel('Your new API key').count()).toBe(0);
  await page.reload();
  const text = await items(page).innerText();
  const id = (await items(page).getAttribute('aria-labelledby'))?.replace('key-', '') ?? '';
  for (const part of [id, issuer, ...claims, ticked.join(' · '), 'Only Boards']) expect(text).toContain(part);
});
