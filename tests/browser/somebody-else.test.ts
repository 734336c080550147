// A page that shows one person, in a browser where another one has signed in since, in another tab: nothing of the
// page happens to the other, and nothing of the other is shown on it.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { createAuthenticator } from '../support/authenticator.ts';
import { newPage } from '../support/browser.ts';
import { denyDevice, loginByMail, mailTo, request } from '../support/http.ts';
import { signIn } from '../support/page-states.ts';
import { runOperator, startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService({ env: { LATCHKEY_RATE_LIMITS: 'off' } });
});

afterAll(async () => {
  await service.stop();
});

let people = 0;
const someone = (name: string) => `${name}-${people++}@example.com`;
const bearer = async (email: string) => (await loginByMail(service.url, email)).access_token;

/** Signs somebody in in another tab of the browser. */
async function signInBeside(page: Page, email: string): Promise<void> {
  const tab = await page.context().newPage();
  await signIn(tab, service.url, email);
  await tab.close();
}

/** An account with a passkey, a terminal and more in its log than the page shows at first. */
async function fill(email: string, terminal: string): Promise<string> {
  const token = await bearer(email);
  const options = (await request(service.url, 'POST', '/passkey/register/challenge', { token })).body;
  const made = createAuthenticator({ origin: service.url }).create(options);
  const json = { ...made, name: `key of ${email}` };
  expect((await request(service.url, 'POST', '/passkey/register', { token, json })).status).toBe(201);
  const device = (await request(service.url, 'POST', '/device', { json: { device_name: terminal } })).body;
  const { user_code, device_code } = device;
  await request(service.url, 'POST', '/device/approve', { token, json: { user_code } });
  expect((await request(service.url, 'POST', '/token', { json: { device_code } })).status).toBe(200);
  for (let n = 0; n < 12; n++) await denyDevice(service.url, token);
  return token;
}

/** All that the interface shows of an account, but for when its logins were last used. */
async function accountOf(token: string): Promise<unknown> {
  const lists = ['/me', '/passkeys', '/sessions', '/organizations', '/events?limit=100'];
  const answers = await Promise.all(lists.map((path) => request(service.url, 'GET', path, { token })));
  expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200));
  const text = JSON.stringify(answers.map(({ body }) => body));
  return text.replaceAll(/"last_used_at":"[^"]+"/g, '');
}

const somebodyElse = (page: Page) => page.getByRole('dialog', { name: 'Somebody else is signed in now' });

async function toldAndClosed(page: Page, email: string): Promise<void> {
  await somebodyElse(page).getByText(email).waitFor();
  await somebodyElse(page).getByRole('button', { name: 'Look at this page first' }).click();
  await somebodyElse(page).waitFor({ state: 'detached' });
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first().click();

test('no act and no list of an account page reaches another person who is signed in by now', async () => {
  const [shown, newer] = [someone('shown'), someone('newer')];
  await fill(shown, 'terminal of the one shown');
  const theirs = await fill(newer, 'terminal of the newer one');
  const page = await newPage();
  await signIn(page, service.url, shown);
  await page.locator('#events > li').nth(9).waitFor();
  await page.locator('#passkeys > li').waitFor();
  const organization = page.locator('#organizations > li');
  await organization.waitFor();
  await signInBeside(page, newer);
  const before = await accountOf(theirs);

  await press(page, 'Edit the profile');
  await page.getByLabel('Name', { exact: true }).fill('Of the one shown');
  await press(page, 'Save');
  await somebodyElse(page).getByText(`still shows the account of ${shown}`).waitFor();
  await toldAndClosed(page, newer);
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Of the one shown');
  await press(page, 'Change the address');
  await page.getByLabel('New mail address').fill('newest@example.com');
  await press(page, 'Send a link there');
  await toldAndClosed(page, newer);
  expect(await page.getByLabel('New mail address').inputValue()).toBe('newest@example.com');
  await press(page, 'Rename');
  await page.getByLabel('New name').fill('renamed');
  await page.locator('#passkeys').getByRole('button', { name: 'Save' }).click();
  await toldAndClosed(page, newer);
  await page.locator('#passkeys').getByRole('button', { name: 'Cancel' }).click();
  await press(page, 'Remove');
  await press(page, 'Yes, remove it');
  await toldAndClosed(page, newer);
  await press(page, 'Add a passkey');
  await toldAndClosed(page, newer);
  await page.locator('#logins').getByRole('button', { name: 'Sign out' }).first().click();
  await toldAndClosed(page, newer);
  await press(page, 'Sign out all others');
  await toldAndClosed(page, newer);
  await press(page, 'Sign out here');
  await toldAndClosed(page, newer);
  await press(page, 'Sign out everywhere');
  await press(page, 'Yes, sign out everywhere');
  await toldAndClosed(page, newer);
  await page.locator('#more-events').click();
  await toldAndClosed(page, newer);
  await press(page, 'Delete my account');
  await press(page, 'Yes, delete it for good');
  await toldAndClosed(page, newer);

  expect(await accountOf(theirs)).toEqual(before);
  expect(await page.locator('#events > li').count()).toBe(10);
  expect(await page.locator('#passkeys').innerText()).toContain(`key of ${shown}`);
  const text = await page.locator('main').innerText();
  expect(text).toContain('terminal of the one shown');
  expect(text).not.toContain('terminal of the newer one');
  expect(text).not.toContain(newer);

  // It is no dead end: once the one shown is back, what was typed is saved.
  await signInBeside(page, shown);
  await page.getByRole('region', { name: 'Profile' }).getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your profile is saved.').waitFor();
  await page.context().close();
});

test('of a list that goes on over pages no page is of another person', async () => {
  const create = ['organizations', 'create', '--slug', 'acme', '--name', 'Acme'];
  expect((await runOperator(service.env, ...create)).code).toBe(0);
  const [shown, newer] = [someone('shown'), someone('newer')];
  for (const email of [shown, newer]) {
    await bearer(email);
    const add = ['organizations', 'add-member', '--slug', 'acme', '--email', email, '--role', 'admin'];
    expect((await runOperator(service.env, ...add)).code).toBe(0);
  }
  const page = await newPage();
  // The pages of the service hold more than a test can make: here each holds one.
  await page.route('**/auth/organizations?*', (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set('limit', '1');
    return route.continue({ url: url.href });
  });
  await signIn(page, service.url, shown);
  await page.locator('#more-organizations').waitFor();
  await signInBeside(page, newer);
  await page.locator('#more-organizations').click();
  await toldAndClosed(page, newer);
  expect(await page.locator('#organizations > li').count()).toBe(1);
  await page.context().close();
});

test('somebody who signs in between the click and the request loses nothing by it', async () => {
  const [shown, newer] = [someone('shown'), someone('newer')];
  const theirs = await bearer(newer);
  const page = await newPage();
  await signIn(page, service.url, shown);
  await page.waitForLoadState('networkidle');
  const before = await accountOf(theirs);
  const asked: string[] = [];
  let after: unknown;
  await page.route('**/api/v1/auth/**', async (route) => {
    asked.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
    if (route.request().method() === 'DELETE') {
      await signInBeside(page, newer);
      after = await accountOf(theirs);
    }
    await route.continue();
  });
  await press(page, 'Delete my account');
  await press(page, 'Yes, delete it for good');
  await toldAndClosed(page, newer);
  // The act is sent at once, and who is signed in is asked only where it was refused.
  expect(asked).toEqual(['DELETE /api/v1/auth/me', 'GET /api/v1/auth/me']);
  expect(after).not.toEqual(before);
  expect(await accountOf(theirs)).toEqual(after);
  await page.context().close();
});

test('what is confirmed in place is not done as another person who signs in after the confirmation', async () => {
  const [shown, newer] = [someone('shown'), someone('newer')];
  const theirs = await bearer(newer);
  const page = await newPage();
  await signIn(page, service.url, shown);
  let refused = false;
  await page.route('**/auth/me', async (route) => {
    if (route.request().method() !== 'DELETE') return route.continue();
    if (refused) {
      await signInBeside(page, newer);
      return route.continue();
    }
    refused = true;
    const json = { error: 'insufficient_user_authentication', error_description: '.', request_id: 'r' };
    return route.fulfill({ status: 401, headers: { 'X-Request-Id': 'r' }, json });
  });
  await press(page, 'Delete my account');
  await press(page, 'Yes, delete it for good');
  const dialog = page.getByRole('dialog', { name: 'Confirm it is you' });
  await dialog.getByRole('button', { name: 'Send me a mail with a code' }).click();
  const { text } = await mailTo(service.url, shown, 1);
  await dialog.getByLabel('Code from the mail').fill(/^[A-Z]{4}-[A-Z]{4}$/m.exec(text)?.[0] ?? '');
  await dialog.getByLabel('Code from the mail').press('Enter');
  await toldAndClosed(page, newer);
  await accountOf(theirs);
  await accountOf(await bearer(shown));
  await page.context().close();
});

test('a passkey that was made while somebody else signed in is registered nowhere, and forgotten by the browser', async () => {
  const [shown, newer] = [someone('shown'), someone('newer')];
  const theirs = await bearer(newer);
  const page = await newPage();
  await signIn(page, service.url, shown);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const kept = async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
  let made = 0;
  await page.route('**/passkey/register', async (route) => {
    made = (await kept()).length;
    await signInBeside(page, newer);
    await route.continue();
  });
  await press(page, 'Add a passkey');
  await toldAndClosed(page, newer);
  expect(made).toBe(1);
  expect(await kept()).toEqual([]);
  for (const token of [theirs, await bearer(shown)])
    expect((await request(service.url, 'GET', '/passkeys', { token })).body.passkeys).toEqual([]);
  await page.context().close();
});

test('a device that one person looks at is neither looked up, approved nor denied as another', async () => {
  const device = (await request(service.url, 'POST', '/device')).body;
  const poll = () =>
    request(service.url, 'POST', '/token', { json: { device_code: device.device_code } }).then(
      ({ body }) => body.error,
    );
  const [looking, since] = [someone('looking'), someone('since')];
  const page = await newPage();
  await signIn(page, service.url, looking);
  await page.goto(`${service.url}/device`);
  await page.getByText(`Signed in as ${looking}`).waitFor();
  const review = await page.context().newPage();
  await review.goto(device.verification_uri_complete);
  await review.locator('#approve').waitFor();
  await signInBeside(page, since);
  await page.getByLabel('Code from your terminal').fill(device.user_code);
  await press(page, 'Continue');
  await toldAndClosed(page, since);
  await page.getByRole('alert').getByText('That was not done').waitFor();
  await press(review, 'Approve');
  await toldAndClosed(review, since);
  await press(review, 'Deny');
  await somebodyElse(review).getByText(since).waitFor();
  expect(await poll()).toBe('authorization_pending');
  await somebodyElse(review).getByRole('button', { name: 'Load the page again' }).click();
  await review.getByText(`Signed in as ${since}`).waitFor();
  await page.context().close();
});

test('a page that waits for a terminal takes no login of another person for it', async () => {
  const device = (await request(service.url, 'POST', '/device')).body;
  const [waiting, since] = [someone('waiting'), someone('since')];
  const page = await newPage();
  await signIn(page, service.url, waiting);
  await page.goto(device.verification_uri_complete);
  await press(page, 'Approve');
  await page.getByText('Waiting for your terminal').waitFor();
  await signInBeside(page, since);
  await fill(since, 'terminal of the other');
  await page.getByText('Somebody else is signed in in this browser now').waitFor();
  await page.context().close();
});
