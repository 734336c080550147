// What the device page and the account page say about the scope of a device, in a real browser against the real service.

import { beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { apiAt, deviceTokens } from '../support/http.ts';
import { declareTickets } from '../support/keys.ts';
import { confirmed, headed, signedIn, startDevice } from '../support/people.ts';
import { runOperator, startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const tickets = 'https://tickets.example/api';
const service = shared(() => startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } }));

beforeAll(async () => {
  await declareTickets(service);
});

/** A page of a signed-in user that shows a device which asks for this access. */
async function review(email: string, access: object): Promise<{ page: Page; device_code: string }> {
  const page = await newPage();
  await signedIn(page, service.url, email);
  const { verification_uri_complete, device_code } = await startDevice(service.url, access);
  await page.goto(verification_uri_complete);
  await headed(page, 'Let this device sign in as you?');
  return { page, device_code };
}

const asked = (page: Page) =>
  page.getByRole('list', { name: 'If you approve, this device can' }).getByRole('listitem');

test.each([
  ['that asks for nothing', {}],
  ['that asks for everything', { scope: '*' }],
])('a device %s is shown as one that can do everything', async (what, access) => {
  const { page } = await review(`${what.replaceAll(' ', '-')}@example.com`, access);
  expect(await asked(page).allInnerTexts()).toEqual(['Do everything you can do']);
  expect(await page.locator('#requested-resource').count()).toBe(0);
});

test('each scope is shown by its sentence and its service, and the resource by its service and address', async () => {
  const access = { scope: 'tickets:write openid email', resource: tickets };
  const { page } = await review('narrow-review@example.com', access);
  expect(await asked(page).allInnerTexts()).toEqual([
    'Create, change and close tickets in your name\nTickets',
    'See your email address',
  ]);
  expect(await page.locator('#requested-resource').innerText()).toBe(`Only with Tickets, at ${tickets}`);
});

test('a device that asks only for scopes without a meaning gets nothing, and the page says so', async () => {
  const { page } = await review('nothing-review@example.com', { scope: 'openid offline_access' });
  expect(await asked(page).allInnerTexts()).toEqual(['Access nothing in your account']);
});

test('a scope that its service withdraws before the approval is shown as no longer offered', async () => {
  const { stdout } = await runOperator(
    service.env,
    ...['services', 'create', 'Boards', '--scope', 'boards:read=See your boards'],
  );
  const [id = ''] = /svc_[\w-]+/.exec(stdout) ?? [];
  const page = await newPage();
  await signedIn(page, service.url, 'withdrawn-review@example.com');
  const { verification_uri_complete } = await startDevice(service.url, { scope: 'boards:read' });
  expect((await runOperator(service.env, 'services', 'set', id, '--no-scope')).code).toBe(0);
  await page.goto(verification_uri_complete);
  await headed(page, 'Let this device sign in as you?');
  expect(await asked(page).allInnerTexts()).toEqual(['boards:read (no longer offered)']);
});

test('what the device page showed is what the device gets, and the account page shows it beside the session', async () => {
  const email = 'narrow-account@example.com';
  const { page, device_code } = await review(email, {
    scope: 'tickets:read email',
    resource: tickets,
    device_name: 'narrow one',
  });
  await page.getByRole('button', { name: 'Approve' }).click();
  await headed(page, 'Approved');
  const { scope } = await apiAt(service.url).call('issueToken', { body: { device_code } });
  expect(scope).toBe('tickets:read email');
  await page.goto(`${service.url}/account`);
  const session = page.locator('#sessions > li').filter({ hasText: 'narrow one' });
  await session
    .getByText('Read the tickets of your organizations (Tickets) · See your email address')
    .waitFor();
  await session.getByText('Only Tickets').waitFor();
  const mine = page.locator('#sessions > li').filter({ hasText: 'This session' });
  expect(await mine.innerText()).not.toContain('Everything');
});

test('a list of scopes that cannot be loaded does not keep a user from ending a narrow session', async () => {
  const email = 'scopes-fail@example.com';
  const page = await newPage();
  const token = await signedIn(page, service.url, email);
  await deviceTokens(service.url, token, { scope: 'tickets:read' });
  await page.route('**/auth/scopes', (route) => route.abort());
  await page.goto(`${service.url}/account`);
  const session = page.locator('#sessions > li').filter({ hasText: 'tickets:read' });
  await confirmed(session, 'End session');
  await page.getByText('Session ended.').waitFor();
});
