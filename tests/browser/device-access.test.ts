// What the device page and the account page say about the scope of a device, in a real browser against the real service.

import { beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, untilLoaded } from '#support/browser.ts';
import { apiAt } from '#support/http.ts';
import { declareTickets } from '#support/keys.ts';
import { confirmed, headed, newAddress, pressed, signedIn, startDevice } from '#support/people.ts';
import { runOperator, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const tickets = 'https://tickets.example/api';
const service = shared(() => startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } }));

beforeAll(async () => {
  await declareTickets(service);
});

/** A page of a signed-in user that shows a device which asks for this access. @param meanwhile happens before it is shown */
async function review(
  access: object,
  meanwhile = async () => {},
): Promise<{ page: Page; device_code: string }> {
  const page = await newPage();
  await signedIn(page, service.url, newAddress());
  const { verification_uri_complete, device_code } = await startDevice(service.url, access);
  await meanwhile();
  await page.goto(verification_uri_complete);
  await headed(page, 'Let this device sign in as you?');
  return { page, device_code };
}

const asked = (page: Page) =>
  page.getByRole('list', { name: 'If you approve, this device can' }).getByRole('listitem').allInnerTexts();

test.each([
  [{}, ['Do everything you can do'], []],
  [{ scope: '*' }, ['Do everything you can do'], []],
  // Scopes without a meaning allow nothing.
  [{ scope: 'openid offline_access' }, ['Access nothing in your account'], []],
  [
    { scope: 'tickets:write openid email', resource: tickets },
    ['Create, change and close tickets in your name\nTickets', 'See your email address'],
    [`Only with Tickets, at ${tickets}`],
  ],
])('a device that asks for %j is shown as one that can do that', async (access, can, where) => {
  const { page } = await review(access);
  expect(await asked(page)).toEqual(can);
  expect(await page.locator('#requested-resource').allInnerTexts()).toEqual(where);
});

test('a scope that its service withdraws before the approval is shown as no longer offered', async () => {
  const boards = ['services', 'create', 'Boards', '--scope', 'boards:read=See your boards'];
  const [id = ''] = /svc_[\w-]+/.exec((await runOperator(service.env, ...boards)).stdout) ?? [];
  const { page } = await review({ scope: 'boards:read' }, async () => {
    expect((await runOperator(service.env, 'services', 'set', id, '--no-scope')).code).toBe(0);
  });
  expect(await asked(page)).toEqual(['boards:read (no longer offered)']);
});

test('what the device page showed is what the device gets and the account page shows, where its session can be ended even if no sentences load', async () => {
  const access = { scope: 'tickets:read email', resource: tickets, device_name: 'narrow one' };
  const { page, device_code } = await review(access);
  await pressed(page, 'Approve');
  await headed(page, 'Approved');
  const { scope } = await apiAt(service.url).call('issueToken', { body: { device_code } });
  expect(scope).toBe(access.scope);
  await page.goto(`${service.url}/account`);
  const session = page.locator('#sessions > li').filter({ hasText: 'narrow one' });
  await session
    .getByText('Read the tickets of your organizations (Tickets) · See your email address')
    .waitFor();
  await session.getByText('Only Tickets').waitFor();
  const mine = page.locator('#sessions > li').filter({ hasText: 'This session' });
  expect(await mine.innerText()).not.toContain('Everything');

  await page.route('**/auth/scopes', (route) => route.abort());
  await page.reload();
  await untilLoaded(page);
  await session.getByText('tickets:read').waitFor();
  await confirmed(session, 'End session');
  await page.getByText('Session ended.').waitFor();
});
