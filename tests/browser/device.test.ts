// The device page: what it shows before a decision, and that it reports on that very device afterwards, whatever else
// happens. What its polls make of the security log: packages/dashboard/src/device/approval-status.test.ts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { deviceTokens, loginByMail, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { changesBy, giveSession, phone, signedIn, signInByCode } from '../support/people.ts';

interface Device {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri_complete: string;
}

const startDevice = async (): Promise<Device> => (await request(service.url, 'POST', '/device')).body;

async function pickUp({ device_code }: Device): Promise<string> {
  const { status, body } = await request(service.url, 'POST', '/token', { json: { device_code } });
  expect(status).toBe(200);
  return body.access_token;
}

const says = (page: Page, text: string) => page.getByRole('status').getByText(text).waitFor();
const waiting = 'Waiting for your device';
const done = 'Your device is signed in. You can close this window';

async function press(page: Page, button: 'Approve' | 'Deny', device: Device): Promise<void> {
  await page.goto(device.verification_uri_complete);
  await page.getByRole('button', { name: button }).click();
  await page.getByRole('heading', { name: button === 'Deny' ? 'Denied' : 'Approved' }).waitFor();
}

/** A page that has approved a device and is waiting for it to sign in. */
async function waitingPage(email: string, page?: Page): Promise<{ page: Page; device: Device }> {
  const of = page ?? (await newPage());
  await giveSession(of, service.url, email);
  const device = await startDevice();
  await press(of, 'Approve', device);
  await says(of, waiting);
  return { page: of, device };
}

/** Makes the page see itself as hidden or visible. */
const setVisibility = (page: Page, state: 'hidden' | 'visible') =>
  page.evaluate((now) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => now });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);

/** Resolves after two polls: the second one started after this call. */
async function twoPolls(page: Page): Promise<void> {
  for (let polls = 0; polls < 2; polls++) {
    await page.waitForResponse((answer) => answer.url().includes('/auth/events'));
  }
}

test('a click on a window without the focus approves nothing, so that a double click elsewhere cannot approve a device', async () => {
  const page = await newPage();
  await signedIn(page, service.url, 'two-clicks@example.com');
  await page.addInitScript(() => {
    document.hasFocus = () => false;
  });
  const changes = changesBy(page.context());
  const device = await startDevice();
  await page.goto(device.verification_uri_complete);
  await page.getByRole('button', { name: 'Approve', disabled: true }).waitFor();
  await page.locator('#approve').scrollIntoViewIfNeeded();
  const { x = 0, y = 0, width = 0, height = 0 } = (await page.locator('#approve').boundingBox()) ?? {};
  await page.mouse.click(x + width / 2, y + height / 2);
  // The click was ignored, but started the timer after which a click counts.
  await page.getByRole('button', { name: 'Approve', disabled: false }).waitFor();
  expect(changes).toEqual(['POST /device/verify']);
  await page.reload();
  await page.getByRole('button', { name: 'Approve', disabled: true }).waitFor();
  await page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
});

test('a screen reader announces the code, the warning and both choices of the device page', async () => {
  const page = await newPage();
  await giveSession(page, service.url, 'reader@example.com');
  const device = await startDevice();
  await page.goto(device.verification_uri_complete);
  await page.locator('#approve').waitFor();
  const tree = await page.locator('body').ariaSnapshot();
  expect(tree).toContain('heading "Let this device sign in as you?" [level=1]');
  expect(tree).toContain(`status: ${device.user_code}`);
  expect(tree).toContain('Only approve if you started this sign-in yourself');
  expect(tree).toContain('button "Approve"');
  expect(tree).toContain('button "Deny"');
});

test.each([
  ['everything', {}],
  ['many scopes', { scope: 'profile email organizations openid' }],
  ['long names', { client_name: 'program '.repeat(12).trim(), device_name: 'device '.repeat(14).trim() }],
])('on a phone the code, the warning and both buttons are in view without scrolling: %s', async (_, json) => {
  const page = await newPage(phone);
  await signedIn(page, service.url, `${crypto.randomUUID()}@example.com`);
  const { body } = await request(service.url, 'POST', '/device', { json });
  await page.route('**/device/verify', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), same_network: false } });
  });
  await page.goto(body.verification_uri_complete);
  await page.locator('#approve').waitFor();
  expect(await page.evaluate(() => scrollY)).toBe(0);
  for (const part of ['#shown-code', '.warning', '#approve', '#deny']) {
    const box = (await page.locator(part).boundingBox())!;
    expect([part, box.y >= 0, box.y + box.height <= phone.viewport.height]).toEqual([part, true, true]);
  }
  const warning = (await page.locator('.warning').boundingBox())!;
  const buttons = (await page.locator('.choice').boundingBox())!;
  expect(warning.y + warning.height).toBeLessThanOrEqual(buttons.y);
});

test('the code of a device counts down, and the page says when it has expired', async () => {
  const page = await newPage();
  await page.clock.install();
  await signedIn(page, service.url, 'slow-device@example.com');
  const device = await startDevice();
  await page.goto(device.verification_uri_complete);
  await page
    .getByRole('timer')
    .getByText(/^9 min( \d+ sec)?$|^10 min$/)
    .waitFor();
  await page.clock.fastForward('09:00');
  await page
    .getByRole('timer')
    .getByText(/^\d+ sec$|^1 min$/)
    .waitFor();
  await page.clock.fastForward('01:01');
  await page.getByRole('alert').getByText('This code has expired. Start again on your device.').waitFor();
});

test('an approval that has to be confirmed shows its code once, and says what never to do with it', async () => {
  const page = await newPage();
  await signedIn(page, service.url, 'confirms@example.com');
  await page.route('**/device/approve', async (route) => {
    const response = await route.fetch();
    const headers = { ...response.headers(), 'content-type': 'application/json' };
    await route.fulfill({ status: 200, headers, json: { confirmation_code: '047159' } });
  });
  const device = await startDevice();
  await page.goto(device.verification_uri_complete);
  await page.locator('#approve[aria-disabled=false]').click();
  await page.getByText('Never tell it to anyone').waitFor();
  expect(await page.locator('#confirmation-code').innerText()).toBe('047159');
  await page.reload();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  expect(await page.content()).not.toContain('047159');
});

test('a device that cannot ask for the confirmation code cannot be approved from another network', async () => {
  const page = await newPage();
  await signedIn(page, service.url, 'cannot-confirm@example.com');
  await page.route('**/device/verify', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), confirmation: 'impossible' } });
  });
  const device = await startDevice();
  await page.goto(device.verification_uri_complete);
  await page.getByText('You can only approve it from its own network').waitFor();
  expect(await page.locator('#approve').count()).toBe(0);
  await page.locator('#deny').click();
  await page.getByRole('heading', { name: 'Denied' }).waitFor();
});

test('a typed device code is accepted in any format, and survives a reload', async () => {
  const page = await newPage();
  await signedIn(page, service.url, 'reloads@example.com');
  const { user_code } = await startDevice();
  await page.goto(`${service.url}/device`);
  await page
    .getByLabel('Code from your device')
    .fill(`${user_code.toLowerCase().replace('-', '\u30fc')}\u200b`);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.locator('#shown-code').getByText(user_code).waitFor();
  await page.reload();
  await page.locator('#shown-code').getByText(user_code).waitFor();
});

test('an approval can be withdrawn until the device signs in, and the page still says so after a reload', async () => {
  const { page, device } = await waitingPage('mistaken@example.com');
  await page.route('**/auth/sessions/*', (route) => route.abort());
  await page.getByRole('button', { name: 'Withdraw approval' }).click();
  await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Withdraw approval' }).click();
  await page.getByRole('heading', { name: 'Approval withdrawn' }).waitFor();
  await says(page, "Your device isn't signed in.");
  expect(await page.getByRole('button', { name: 'Withdraw approval' }).count()).toBe(0);
  const { status, body } = await request(service.url, 'POST', '/token', {
    json: { device_code: device.device_code },
  });
  expect([status, body.error]).toEqual([400, 'access_denied']);
  await page.reload();
  await page.getByRole('heading', { name: 'Approval withdrawn' }).waitFor();
  await says(page, "Your device isn't signed in.");
  await page.getByRole('link', { name: 'View your sessions' }).click();
  await page.getByText('Device approval withdrawn').waitFor();
});

test('of two devices approved in two tabs, only the tab of the device that signed in says so', async () => {
  const { page: one, device: first } = await waitingPage('two@example.com');
  const two = await one.context().newPage();
  const second = await startDevice();
  await press(two, 'Approve', second);
  await says(two, waiting);
  await pickUp(second);
  await says(two, done);
  await twoPolls(one);
  await says(one, waiting);
  await pickUp(first);
  await says(one, done);
});

test('after a decision in one tab, another tab with the same code says that no device is waiting', async () => {
  const page = await newPage();
  await giveSession(page, service.url, 'tabs@example.com');
  const other = await page.context().newPage();
  const device = await startDevice();
  for (const tab of [page, other]) {
    await tab.goto(device.verification_uri_complete);
    await tab.getByRole('button', { name: 'Approve' }).waitFor();
  }
  await other.getByRole('button', { name: 'Deny' }).click();
  await other.getByRole('heading', { name: 'Denied' }).waitFor();
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('alert').getByText('No device is waiting with this code').waitFor();
  expect(
    (await request(service.url, 'POST', '/token', { json: { device_code: device.device_code } })).body.error,
  ).toBe('access_denied');
});

test('reloading or coming back after an approval shows its current status', async () => {
  const { page, device } = await waitingPage('reload@example.com');
  const approvals: string[] = [];
  page.on('request', (sent) => {
    if (sent.url().endsWith('/device/approve')) approvals.push(sent.url());
  });
  await page.reload();
  await says(page, waiting);
  await page.getByRole('link', { name: 'View your sessions' }).click();
  await page.waitForURL(`${service.url}/account#sessions`);
  await page.goBack();
  await says(page, waiting);
  await pickUp(device);
  await says(page, done);
  await page.reload();
  await says(page, done);
  expect(approvals).toEqual([]);
});

test('opening the link again after approving is not an error to worry about, and the page accepts another code', async () => {
  const { page, device } = await waitingPage('reopens@example.com');
  const reopened = await page.context().newPage();
  await reopened.goto(device.verification_uri_complete);
  await reopened.getByRole('alert').getByText('If you just approved or denied it').waitFor();
  await reopened.getByRole('link', { name: 'View your sessions' }).waitFor();
  await page.goto(`${service.url}/device`);
  const next = await startDevice();
  await page.getByLabel('Code from your device').fill(next.user_code);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Approve' }).click();
  await says(page, waiting);
  await page.goto(`${service.url}/device`);
  await page.getByLabel('Code from your device').waitFor();
});

test('a decision is not shown to another user who signs in afterwards', async () => {
  const { page } = await waitingPage('first@example.com');
  const url = page.url();
  const other = await page.context().newPage();
  await signInByCode(other, service.url, 'next@example.com');
  await says(page, "This page can't tell whether your device signed in");
  await page.reload();
  await page.getByRole('alert').getByText('No device is waiting with this code').waitFor();
  expect(page.url()).toBe(url);
});

test('a hidden page does not poll, and polls at once when shown, finding sessions many events back or ended at once', async () => {
  const email = 'hidden@example.com';
  const page = await newPage();
  await page.clock.install();
  const { device } = await waitingPage(email, page);
  const quick = await page.context().newPage();
  const second = await startDevice();
  await press(quick, 'Approve', second);
  await setVisibility(page, 'hidden');
  await setVisibility(quick, 'hidden');
  const requests: string[] = [];
  page.on('request', (sent) => void requests.push(sent.url()));
  await page.clock.runFor(60_000);
  expect(requests).toEqual([]);

  await pickUp(device);
  const token = await pickUp(second);
  await request(service.url, 'POST', '/revoke', { token, json: { scope: 'session' } });
  const { access_token } = await loginByMail(service.url, email);
  const eventsPerLogin = 2;
  for (let events = 0; events <= 50; events += eventsPerLogin) await deviceTokens(service.url, access_token);
  await setVisibility(page, 'visible');
  await says(page, done);
  await setVisibility(quick, 'visible');
  await says(quick, 'Your device signed in, but has since been signed out.');
});

test('when the response to an approval is lost, approving again says that the device may already be signed in', async () => {
  const page = await newPage();
  await giveSession(page, service.url, 'doubt@example.com');
  const device = await startDevice();
  await page.route('**/device/approve', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.goto(device.verification_uri_complete);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('alert').getByText('it may already be signed in').waitFor();
  await pickUp(device);
});
