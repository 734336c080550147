// The device page: what it shows before a decision, also of the access that a device asks for, and that it reports on that very device afterwards, whatever else
// happens. What its polls make of the security log: packages/dashboard/src/device/approval-status.test.ts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { outcome } from '#support/account.ts';
import { newPage, untilLoaded } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { type DeviceCodes, pollDevice, startDevice } from '#support/devices.ts';
import {
  alerted,
  alter,
  changesBy,
  confirmed,
  giveSession,
  headed,
  newAddress,
  phone,
  pressed,
  pressedEarly,
  signInByCode,
} from '#support/people.ts';
import { registerService, runOperator } from '#support/service.ts';

const poll = async (device: DeviceCodes) => outcome(await pollDevice(service, device));
const says = (page: Page, text: string) => page.getByRole('status').getByText(text).waitFor();
const waiting = 'Waiting for your device';
const done = 'Your device is signed in. You can close this window';

/** Opens a device of its own on the page of a user. */
async function review(page: Page, names: object = {}, email = newAddress()): Promise<DeviceCodes> {
  await giveSession(page, service.url, email);
  const device = await startDevice(service, names);
  await page.goto(device.verification_uri_complete);
  await page.locator('#shown-code').getByText(device.user_code).waitFor();
  return device;
}

/** A device that the page has approved, and for whose sign-in it waits. */
async function approved(page: Page, email = newAddress()): Promise<DeviceCodes> {
  const device = await review(page, {}, email);
  await pressed(page, 'Approve');
  await headed(page, 'Approved');
  await says(page, waiting);
  return device;
}

/** Makes the page see itself as hidden or visible. */
const setVisibility = (page: Page, state: 'hidden' | 'visible') =>
  page.evaluate((now) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => now });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);

test('a press approves nothing in a window without the focus, or that has just got it, so that a double click elsewhere cannot approve a device', async () => {
  const page = await newPage();
  await page.addInitScript(() => {
    document.hasFocus = () => false;
  });
  await page.clock.install();
  const changes = changesBy(page.context());
  await review(page);
  await page.clock.runFor(60_000);
  const approve = (disabled: boolean) => page.getByRole('button', { name: 'Approve', disabled });
  await approve(true).waitFor();
  await page.locator('#approve').scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await page.locator('#approve').boundingBox())!;
  await page.mouse.click(x + width / 2, y + height / 2);
  // The click was ignored, but started the timer after which a click counts.
  await approve(false).waitFor();
  await pressedEarly(page, 'Approve');
  expect(changes).toEqual(['POST /device/verify']);
  await page.reload();
  await approve(true).waitFor();
  await page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await approve(false).click();
  await headed(page, 'Approved');
});

test('a code is accepted in any format, survives a reload and counts down, the page says when it has expired, and a screen reader announces it, the warning and both choices', async () => {
  const page = await newPage();
  await page.clock.install();
  await giveSession(page, service.url, newAddress());
  const { user_code } = await startDevice(service);
  await page.goto(`${service.url}/device`);
  const typed = `${user_code.toLowerCase().replace('-', '\u30fc')}\u200b`;
  await page.getByLabel('Code from your device').fill(typed);
  await pressed(page, 'Continue');
  await page.locator('#shown-code').getByText(user_code).waitFor();
  await page.reload();
  await page.locator('#approve').waitFor();
  const tree = await page.locator('body').ariaSnapshot();
  for (const part of [
    'heading "Let this device sign in as you?" [level=1]',
    `status: ${user_code}`,
    'Only approve if you started this sign-in yourself',
    'button "Approve"',
    'button "Deny"',
  ])
    expect(tree).toContain(part);
  const left = page.getByRole('timer');
  await left.getByText(/^9 min( \d+ sec)?$|^10 min$/).waitFor();
  await page.clock.fastForward('09:00');
  await left.getByText(/^\d+ sec$|^1 min$/).waitFor();
  await page.clock.fastForward('01:01');
  await alerted(page, 'This code has expired. Start again on your device.');
});

test.each([
  ['everything', {}],
  ['many scopes', { scope: 'profile email organizations openid' }],
  ['long names', { client_name: 'program '.repeat(12).trim(), device_name: 'device '.repeat(14).trim() }],
])(
  'on a phone the code, the warning and both buttons are in view without scrolling: %s',
  async (_, names) => {
    const page = await newPage(phone);
    await alter(page, 'device/verify', { same_network: false });
    await review(page, names);
    expect(await page.evaluate(() => scrollY)).toBe(0);
    const boxOf = async (part: string) => (await page.locator(part).boundingBox())!;
    for (const part of ['#shown-code', '.warning', '#approve', '#deny']) {
      const { y, height } = await boxOf(part);
      expect([part, y >= 0, y + height <= phone.viewport.height]).toEqual([part, true, true]);
    }
    const warning = await boxOf('.warning');
    expect(warning.y + warning.height).toBeLessThanOrEqual((await boxOf('.choice')).y);
  },
);

test('hostile names stay inside their quotes and do not disturb the layout', async () => {
  const page = await newPage(phone);
  await giveSession(page, service.url, newAddress());
  const json = {
    client_name: 'Latchkey” Approved by Latchkey ✓ Open https://evil.example “ok',
    device_name: `\u202Egpj.exe\u202C \u2066x\u2069 \u200B\u3164 z${'\u0300'.repeat(60)}`,
  };
  const headers = { 'User-Agent': `<script>document.title='owned'</script> ${'Mozilla '.repeat(60)}` };
  const { body: device } = await service.ask('POST', '/device', { json, headers });
  const isHarmless = async () => {
    const texts = await page.locator('q.untrusted').allInnerTexts();
    expect(texts.length).toBeGreaterThan(0);
    for (const text of texts)
      expect(text.replace(/^[“"]|[”"]$/g, '')).not.toMatch(/["“”\u202A-\u202E\u2066-\u2069\u200B\u3164]/u);
    const overflow = await page.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth);
    expect([overflow, await page.title()]).toEqual([0, expect.not.stringContaining('owned')]);
  };
  await page.goto(device.verification_uri_complete);
  await headed(page, 'Let this device sign in as you?');
  await isHarmless();
  await pressed(page, 'Approve');
  await headed(page, 'Approved');
  expect(await poll(device)).toBe('200');
  await page.goto(`${service.url}/account`);
  await page.locator('#sessions li').first().waitFor();
  await isHarmless();
});

test('a device that cannot ask for the confirmation code cannot be approved from another network', async () => {
  const page = await newPage();
  await alter(page, 'device/verify', { confirmation: 'impossible' });
  await review(page);
  await page.getByText('You can only approve it from its own network').waitFor();
  expect(await page.locator('#approve').count()).toBe(0);
  await pressed(page, 'Deny');
  await headed(page, 'Denied');
});

test('an approval that has to be confirmed shows its code once, and says what never to do with it; it can be withdrawn until the device signs in, and the page still says so after a reload', async () => {
  const page = await newPage();
  await alter(page, 'device/approve', { confirmation_code: '047159' });
  const device = await approved(page);
  await page.getByText('Never tell it to anyone').waitFor();
  expect(await page.locator('#confirmation-code').innerText()).toBe('047159');
  await page.reload();
  await says(page, waiting);
  expect(await page.content()).not.toContain('047159');
  await page.route('**/auth/sessions/*', (route) => route.abort());
  await pressed(page, 'Withdraw approval');
  await alerted(page, "Couldn't reach Latchkey");
  await page.unrouteAll();
  await pressed(page, 'Withdraw approval');
  for (const look of [() => undefined, () => page.reload()]) {
    await look();
    await headed(page, 'Approval withdrawn');
    await says(page, "Your device isn't signed in.");
  }
  expect(await page.getByRole('button', { name: 'Withdraw approval' }).count()).toBe(0);
  expect(await poll(device)).toBe('400 access_denied');
  await page.getByRole('link', { name: 'View your sessions' }).click();
  await page.getByText('Device approval withdrawn').waitFor();
});

test('after an approval, reloading, coming back and opening the page again show the status of its own device, but not to another user who signs in afterwards, and the page takes another code', async () => {
  const one = await newPage();
  const first = await approved(one);
  const changes = changesBy(one.context());
  await one.reload();
  await says(one, waiting);
  await one.getByRole('link', { name: 'View your sessions' }).click();
  await one.waitForURL(`${service.url}/account#sessions`);
  await one.goBack();
  await says(one, waiting);
  expect(changes).toEqual([]);

  const two = await one.context().newPage();
  const second = await startDevice(service);
  await two.goto(`${service.url}/device`);
  await two.getByLabel('Code from your device').fill(second.user_code);
  await pressed(two, 'Continue');
  await pressed(two, 'Approve');
  await says(two, waiting);
  expect(await poll(second)).toBe('200');
  await says(two, done);
  // The second of these polls began after the device had signed in.
  for (let polls = 0; polls < 2; polls++)
    await one.waitForResponse((response) => response.url().includes('/auth/events'));
  await says(one, waiting);
  expect(await poll(first)).toBe('200');
  await says(one, done);
  await one.reload();
  await says(one, done);
  const url = one.url();
  await signInByCode(two, service.url, newAddress());
  await one.reload();
  await alerted(one, 'No device is waiting with this code');
  expect(one.url()).toBe(url);
});

test('when the response to an approval is lost, approving again says that the device may already be signed in; another tab with the same code says that no device is waiting, and opening the link again is nothing to worry about', async () => {
  const page = await newPage();
  await page.route('**/device/approve', async (route) => {
    await route.fetch();
    await route.abort();
  });
  const device = await review(page);
  const other = await page.context().newPage();
  await other.goto(device.verification_uri_complete);
  await other.locator('#approve').waitFor();
  await pressed(page, 'Approve');
  await alerted(page, "Couldn't reach Latchkey");
  await page.unrouteAll();
  await pressed(page, 'Approve');
  await alerted(page, 'it may already be signed in');
  await pressed(other, 'Deny');
  await alerted(other, 'No device is waiting with this code');
  expect(await poll(device)).toBe('200');
  await other.goto(device.verification_uri_complete);
  await alerted(other, 'If you just approved or denied it');
  await other.getByRole('link', { name: 'View your sessions' }).waitFor();
});

test('a hidden page does not poll, and polls at once when shown, finding a session that began many events ago and ended at once', async () => {
  const page = await newPage();
  await page.clock.install();
  const email = newAddress();
  const device = await approved(page, email);
  await setVisibility(page, 'hidden');
  const requests: string[] = [];
  page.on('request', (sent) => void requests.push(sent.url()));
  await page.clock.runFor(60_000);
  expect(requests).toEqual([]);

  const { body } = await service.ask('POST', '/token', {
    json: { device_code: device.device_code },
  });
  await service.ask('POST', '/revoke', { token: body.access_token, json: { scope: 'session' } });
  const { access_token } = await service.login(email);
  const eventsPerLogin = 2;
  for (let events = 0; events <= 50; events += eventsPerLogin) await service.deviceLogin({ access_token });
  await setVisibility(page, 'visible');
  await says(page, 'Your device signed in, but has since been signed out.');
  await headed(page, 'Device not signed in');
});

const tickets = 'https://tickets.example/api';
const asked = (page: Page) =>
  page.getByRole('list', { name: 'If you approve, this device can' }).getByRole('listitem').allInnerTexts();

test.each([
  [{}, 'Do everything you can do'],
  [{ scope: '*' }, 'Do everything you can do'],
  // Scopes without a meaning allow nothing.
  [{ scope: 'openid offline_access' }, 'Access nothing in your account'],
])('a device that asks for %j is shown as one that can do that', async (access, can) => {
  const page = await newPage();
  await review(page, access);
  expect(await asked(page)).toEqual([can]);
  expect(await page.locator('#requested-resource').count()).toBe(0);
});

test('a scope that its service withdraws before the approval is shown as no longer offered', async () => {
  const key = await registerService(service, 'Boards', '--scope', 'boards:read=See your boards');
  const [id = ''] = key.split(':');
  const page = await newPage();
  await review(page, { scope: 'boards:read' });
  expect((await runOperator(service.env, 'services', 'set', id, '--no-scope')).code).toBe(0);
  await page.reload();
  await headed(page, 'Let this device sign in as you?');
  expect(await asked(page)).toEqual(['boards:read (no longer offered)']);
});

test('what the device page showed is what the device gets and the account page shows, where its session can be ended even if no sentences load', async () => {
  const access = { scope: 'tickets:read openid email', resource: tickets, device_name: 'narrow one' };
  const page = await newPage();
  const { device_code } = await review(page, access);
  expect(await asked(page)).toEqual([
    'Read the tickets of your organizations\nTickets',
    'See your email address',
  ]);
  expect(await page.locator('#requested-resource').innerText()).toBe(`Only with Tickets, at ${tickets}`);
  await pressed(page, 'Approve');
  await headed(page, 'Approved');
  const { scope } = await service.api.call('issueToken', { body: { device_code } });
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
