// Keyboard and screen reader use, and disturbances: going back, reloading, clicking twice, two tabs, losing the
// connection.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { newPage } from '../support/browser.ts';
import { codeIn, mailTo, request } from '../support/http.ts';
import { signIn } from '../support/page-states.ts';
import { signedIn, tabTo } from '../support/people.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } });
});

afterAll(async () => {
  await service.stop();
});

const codeFor = async (email: string) => codeIn(await mailTo(service.url, email));
const poll = (device_code: string) => request(service.url, 'POST', '/token', { json: { device_code } });
const startDevice = async () => (await request(service.url, 'POST', '/device')).body;

test('a keyboard user signs in with the emailed code', async () => {
  const page = await newPage();
  await page.goto(`${service.url}/login`);
  await page.locator('#email:focus').waitFor();
  await page.keyboard.type('keys@example.com');
  await page.keyboard.press('Enter');
  await page.locator('h1:focus').getByText('Check your email').waitFor();
  await tabTo(page, 'Code from the email');
  await page.keyboard.type(await codeFor('keys@example.com'));
  await page.keyboard.press('Enter');
  await page.waitForURL(`${service.url}/account`);
  await page.context().close();
});

test('a keyboard user compares the code of a device and approves it', async () => {
  const page = await newPage();
  await signIn(page, service.url, 'approves@example.com');
  const device = await startDevice();
  await page.goto(`${service.url}/device`);
  await page.locator('#user_code:focus').waitFor();
  await page.keyboard.type(device.user_code.toLowerCase());
  await page.keyboard.press('Enter');
  await page.locator('h1:focus').getByText('Let this device sign in as you?').waitFor();
  await tabTo(page, 'Approve');
  await page.keyboard.press('Space');
  await page.locator('h1:focus').getByText('Approved').waitFor();
  expect((await poll(device.device_code)).status).toBe(200);
  await page.context().close();
});

test('a screen reader announces the code, the warning and both choices of the device page', async () => {
  const page = await newPage();
  await signIn(page, service.url, 'reader@example.com');
  const device = await startDevice();
  await page.goto(device.verification_uri_complete);
  await page.locator('#approve').waitFor();
  const tree = await page.locator('body').ariaSnapshot();
  expect(tree).toContain('heading "Let this device sign in as you?" [level=1]');
  expect(tree).toContain(`status: ${device.user_code}`);
  expect(tree).toContain('Only approve if you started this sign-in yourself');
  expect(tree).toContain('button "Approve"');
  expect(tree).toContain('button "Deny"');
  await page.context().close();
});

test('double clicks send one email and approve once', async () => {
  const page = await newPage();
  const requests: string[] = [];
  page.on('request', (sent) => {
    if (sent.method() === 'POST') requests.push(new URL(sent.url()).pathname);
  });
  await page.goto(`${service.url}/login`);
  await page.getByLabel('Email address').fill('twice@example.com');
  await page.getByRole('button', { name: 'Email me a link' }).dblclick();
  await page.getByRole('heading', { name: 'Check your email' }).waitFor();
  expect(requests.filter((path) => path.endsWith('/magic_link')).length).toBe(1);
  await page.getByLabel('Code from the email').fill(await codeFor('twice@example.com'));
  await page.getByRole('button', { name: 'Sign in' }).dblclick();
  await page.waitForURL(`${service.url}/account`);
  const device = await startDevice();
  await page.goto(device.verification_uri_complete);
  await page.getByRole('button', { name: 'Approve' }).dblclick();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  expect(requests.filter((path) => path.endsWith('/device/approve')).length).toBe(1);
  await page.context().close();
});

test('going back to the account page after signing out in another tab does not show it', async () => {
  const page = await newPage();
  await signIn(page, service.url, 'back@example.com');
  await page.goto(`${service.url}/docs`);
  const other = await page.context().newPage();
  await other.goto(`${service.url}/account`);
  await other.getByRole('button', { name: 'Sign out here' }).click();
  await other.waitForURL(/\/login/);
  await page.goBack();
  await page.waitForURL(/\/login/);
  expect(await page.getByText('back@example.com').count()).toBe(0);
  await page.context().close();
});

test('a typed device code survives a reload', async () => {
  const page = await newPage();
  await signedIn(page, service.url, 'typist@example.com');
  const { user_code } = await startDevice();
  await page.goto(`${service.url}/device`);
  await page.getByLabel('Code from your device').fill(user_code.toLowerCase());
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.locator('#shown-code').getByText(user_code).waitFor();
  await page.reload();
  await page.locator('#shown-code').getByText(user_code).waitFor();
  await page.context().close();
});

test('after a decision in one tab, another tab with the same code says that no device is waiting', async () => {
  const page = await newPage();
  await signIn(page, service.url, 'tabs@example.com');
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
  expect((await poll(device.device_code)).body.error).toBe('access_denied');
  await page.context().close();
});

test('a session that ended in another tab leads to signing in and back to the device code', async () => {
  const page = await newPage();
  await signIn(page, service.url, 'ended@example.com');
  const device = await startDevice();
  await page.goto(device.verification_uri_complete);
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.waitForURL(/\/login\?next=/);
  expect(new URL(page.url()).searchParams.get('next')).toContain(device.user_code);
  expect((await poll(device.device_code)).body.error).toBe('authorization_pending');
  await page.context().close();
});

test('after a lost connection the form keeps what was typed and can be submitted again', async () => {
  const page = await newPage();
  await page.goto(`${service.url}/login`);
  await page.getByLabel('Email address').fill('offline@example.com');
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Email me a link' }).click();
  await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
  expect(await page.getByLabel('Email address').inputValue()).toBe('offline@example.com');
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Email me a link' }).click();
  const code = await codeFor('offline@example.com');
  await page.getByLabel('Code from the email').fill(code);
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
  expect(await page.getByLabel('Code from the email').inputValue()).toBe(code);
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${service.url}/account`);
  await page.context().close();
});

test('with forced colors, warnings and messages keep a visible border', async () => {
  const page = await newPage({ forcedColors: 'active' });
  await signedIn(page, service.url, 'contrast@example.com');
  const device = await startDevice();
  await page.goto(device.verification_uri_complete);
  const edgeOf = (selector: string) =>
    page.locator(selector).evaluate((element) => getComputedStyle(element).borderTopColor);
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  expect(await edgeOf('.warning')).not.toBe('rgba(0, 0, 0, 0)');
  await page.goto(`${service.url}/device?user_code=nonsense`);
  await page.getByRole('alert').getByText("That isn't a valid code").waitFor();
  expect(await edgeOf('#error')).not.toBe('rgba(0, 0, 0, 0)');
  await page.context().close();
});

test('on a phone with doubled text size nothing scrolls sideways', async () => {
  const page = await newPage({ viewport: { width: 360, height: 740 } });
  await signedIn(page, service.url, 'large@example.com');
  const device = await startDevice();
  const addresses = [device.verification_uri_complete, '/login', '/account', '/not-me#token=lk_nm_some'];
  for (const address of addresses) {
    await page.goto(new URL(address, service.url).href);
    await page.locator('main button').last().waitFor();
    const width = await page.evaluate(() => {
      document.documentElement.style.fontSize = '200%';
      return document.documentElement.scrollWidth;
    });
    expect([address, width]).toEqual([address, 360]);
  }
  await page.context().close();
});
