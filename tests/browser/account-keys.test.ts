// Keys on the account page, in a real browser against the real service.

import { beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, untilIdle } from '../support/browser.ts';
import { codeIn, loginByMail, mailTo, request } from '../support/http.ts';
import { declareTickets } from '../support/keys.ts';
import { changesBy, signIn } from '../support/people.ts';
import { changeStore, startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const service = shared(() => startService({ env: { LATCHKEY_TRUSTED_ISSUERS: 'github' } }));

beforeAll(async () => {
  await declareTickets(service);
});

const section = (page: Page) => page.getByRole('region', { name: 'API keys', exact: true });
const button = (page: Page, name: string) => section(page).getByRole('button', { name, exact: true });
const items = (page: Page) => page.locator('#keys > li');
const shownKey = (page: Page) => page.getByLabel('Your new API key').inputValue();

async function openAccount(email: string): Promise<Page> {
  const page = await newPage();
  await signIn(page, service.url, email);
  await untilIdle(page);
  return page;
}

const asked = (query: Record<string, string>) =>
  `/account?${new URLSearchParams({ 'new-key': '1', ...query })}`;

test('a key is created with what was ticked, shown once, and works until it is removed', async () => {
  const page = await openAccount('create@example.com');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await button(page, 'Create API key').click();
  await page.getByLabel('Name', { exact: true }).fill('night build');
  await page.getByLabel('See your email address').check();
  await page.getByLabel('Read the tickets of your organizations').check();
  await page.getByLabel('Expires after').selectOption('7 days');
  await button(page, 'Create API key').click();
  await section(page).getByText("you won't see it again").waitFor();
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('API key created: night build');
  const key = await shownKey(page);
  expect(key).toMatch(/^lk_ak_[\w-]{80}$/);
  await button(page, 'Copy key').click();
  await section(page).getByText('Copied.').waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key);
  const me = await request(service.url, 'GET', '/me', { token: key });
  expect([me.status, me.body.email, me.body.name]).toEqual([200, 'create@example.com', undefined]);

  await button(page, "I've stored it").click();
  expect(await page.content()).not.toContain(key);
  await page.reload();
  const text = await items(page).innerText();
  expect(text).toContain('See your email address · Read the tickets of your organizations (Tickets)');
  expect(text).toContain('Last used');
  expect(await page.content()).not.toContain(key.slice(6));
  await page
    .locator('#events')
    .getByText(/^API key “.night build.” created/)
    .waitFor();

  await items(page).getByRole('button', { name: 'Remove' }).click();
  await button(page, 'Cancel').click();
  expect((await request(service.url, 'GET', '/me', { token: key })).status).toBe(200);
  await items(page).getByRole('button', { name: 'Remove' }).click();
  await button(page, 'Remove API key').click();
  await page.getByText('API key removed: night build').waitFor();
  expect(await items(page).count()).toBe(0);
  expect((await request(service.url, 'GET', '/me', { token: key })).status).toBe(401);
});

test('a name and something to allow are needed; each error stands at its field', async () => {
  const page = await openAccount('errors@example.com');
  const changes = changesBy(page.context());
  await button(page, 'Create API key').click();
  await button(page, 'Create API key').click();
  await section(page).getByText('Enter a name.').waitFor();
  expect(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid')).toBe('true');
  await page.getByLabel('Name', { exact: true }).fill('ci');
  await button(page, 'Create API key').click();
  await section(page).getByText('Choose what the key may do.').waitFor();
  await page.waitForFunction(() => (document.activeElement as HTMLInputElement).value === '*');
  expect(changes).toEqual([]);
  await button(page, 'Cancel').click();
  expect(await page.getByLabel('Name', { exact: true }).count()).toBe(0);
});

test('a key for everything and for one service', async () => {
  const page = await openAccount('everything@example.com');
  await button(page, 'Create API key').click();
  await page.getByLabel('Name', { exact: true }).fill('all');
  await page.getByLabel('See your email address').check();
  await page.getByLabel('Do everything you can do').check();
  expect(await page.getByLabel('See your email address').isDisabled()).toBe(true);
  await page
    .getByLabel('Where it works')
    .selectOption({ label: 'Only Tickets (https://tickets.example/api)' });
  await button(page, 'Create API key').click();
  await button(page, 'Copy key').waitFor();
  const { access_token: token } = await loginByMail(service.url, 'everything@example.com');
  const { keys } = (await request(service.url, 'GET', '/keys', { token })).body;
  expect(keys).toMatchObject([{ name: 'all', scope: '*', resource: 'https://tickets.example/api' }]);
  expect(Date.parse(keys[0].expires_at) - Date.parse(keys[0].created_at)).toBe(30 * 86_400_000);
  await items(page).getByText('Only Tickets').waitFor();
});

test('a link fills in the form and creates nothing without a click, also after a sign-in', async () => {
  const page = await newPage();
  const changes = changesBy(page.context());
  const query = { name: 'night build', scope: 'tickets:read email', expires: '43200' };
  await page.goto(service.url + asked({ ...query, resource: 'https://tickets.example/api' }));
  await page.getByLabel('Email address').fill('linked@example.com');
  await page.getByRole('button', { name: 'Email me a link' }).click();
  await page.getByLabel('Code from the email').fill(codeIn(await mailTo(service.url, 'linked@example.com')));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await section(page).getByText('A program or a link filled in this form').waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('night build');
  const ticked = page.locator('input[name="key-scope"]:checked');
  expect(await ticked.evaluateAll((boxes) => boxes.map((box) => (box as HTMLInputElement).value))).toEqual([
    'email',
    'tickets:read',
  ]);
  expect(await page.getByLabel('Expires after').inputValue()).toBe('43200');
  expect(await page.locator('#key-lifetime > option:checked').innerText()).toBe('12 hours');
  await untilIdle(page);
  expect(changes).not.toContain('POST /keys');

  await button(page, 'Create API key').click();
  const created = await request(service.url, 'GET', '/me', { token: await shownKey(page) });
  expect([created.status, created.body.error]).toEqual([403, 'insufficient_scope']);
  expect(page.url()).toBe(`${service.url}/account`);
  await page.reload();
  await items(page).getByText('Only Tickets').waitFor();
  expect(await page.getByLabel('Name', { exact: true }).count()).toBe(0);
});

test('a key without a secret trusts a job that its claims identify, and the list says how to use it', async () => {
  const page = await openAccount('secretless@example.com');
  const issuer = 'https://token.actions.githubusercontent.com';
  const link = new URLSearchParams({ 'new-key': '1', name: 'release', scope: 'email', issuer });
  link.append('claim', 'repository_id=784120233');
  await page.goto(`${service.url}/account?${link}`);
  const error = page.locator('#new-key-error');
  await section(page).getByText('Any job with these claims can act as you.').waitFor();
  await error.getByText('only your own jobs can use the key: repository_owner_id.').waitFor();
  await page.getByLabel('Required claims').fill('');
  await page.getByLabel('Required claims').pressSequentially('ref');
  await button(page, 'Create API key').click();
  await error.getByText('at least one claim as name=value').waitFor();
  await page.getByLabel('Required claims').fill('repository_id=784120233\nrepository_owner_id=1099001');
  await button(page, 'Create API key').click();
  await error.getByText('the key: environment, ref, or job_workflow_ref.').waitFor();
  await page.getByLabel('Issuer').fill('https://ci.example');
  await button(page, 'Create API key').click();
  await error.getByText('the key: sub.').waitFor();
  await page.getByLabel('Required claims').fill('sub=build');
  await button(page, 'Create API key').click();
  await error.getByText('trust.issuer: is not an issuer that this service trusts').waitFor();
  await page.getByLabel('Issuer').fill(issuer);
  await page
    .getByLabel('Required claims')
    .fill('repository_id=784120233\nrepository_owner_id=1099001\nref=refs/heads/main');
  await button(page, 'Create API key').click();
  await page.getByText('API key created: release').waitFor();
  const text = await items(page).innerText();
  const id = (await items(page).getAttribute('aria-labelledby'))?.replace('key-', '') ?? '';
  for (const part of [id, issuer, 'repository_owner_id=1099001', 'ref=refs/heads/main'])
    expect(text).toContain(part);
  await page.reload();
  expect(await items(page).innerText()).toContain(id);
  expect(await page.getByLabel('Your new API key').count()).toBe(0);
});

test('what a link asks for and nobody offers is shown as unknown, and never becomes a wider key', async () => {
  const page = await openAccount('unknown@example.com');
  const resource = 'https://builds.example/api';
  await page.goto(service.url + asked({ name: 'ci', scope: 'email builds:start', resource, expires: '60' }));
  const unknown = page.getByLabel('Unknown: no service offers this.');
  expect(await unknown.isChecked()).toBe(true);
  expect(await page.locator('#key-lifetime > option:checked').innerText()).toBe('30 days');
  await button(page, 'Create API key').click();
  await section(page).getByText('Clear the entries that no service offers.').waitFor();
  await unknown.uncheck();
  await button(page, 'Create API key').click();
  await section(page).getByText("That service isn't known here").waitFor();
  expect(await page.getByLabel('Where it works').inputValue()).toBe(resource);
  expect(await items(page).count()).toBe(0);
  await page.getByLabel('Where it works').selectOption({ label: 'Latchkey and every service' });
  await button(page, 'Create API key').click();
  await button(page, 'Copy key').waitFor();
});

test('names and sentences in a link are text, never markup', async () => {
  const page = await openAccount('markup@example.com');
  const evil = '<img src=x onerror=alert(1)>';
  await page.goto(service.url + asked({ name: evil, scope: evil.replaceAll(' ', ''), resource: evil }));
  await page.getByLabel('Unknown: no service offers this.').waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe(evil);
  expect(await page.locator('main img').count()).toBe(0);
});

test('a sign-in that is no longer recent is confirmed first, and what was typed is kept', async () => {
  const email = 'stale@example.com';
  const page = await openAccount(email);
  changeStore(service, 'UPDATE sessions SET created_at = created_at - 3600000');
  await button(page, 'Create API key').click();
  await page.getByLabel('Name', { exact: true }).fill('kept');
  await page.getByLabel('Do everything you can do').check();
  await button(page, 'Create API key').click();
  const dialog = page.getByRole('dialog', { name: "Confirm it's you" });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await section(page).getByText('Nothing was changed. Confirm your identity').waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('kept');
  await button(page, 'Create API key').click();
  await dialog.getByRole('button', { name: 'Email me a code' }).click();
  await dialog.getByLabel('Code from the email').fill(codeIn(await mailTo(service.url, email, 1)));
  await dialog.getByLabel('Code from the email').press('Enter');
  await button(page, 'Copy key').waitFor();
  await items(page).getByText('kept').waitFor();
});
