// A page that shows one user, in a browser where another user has signed in since in another tab: the page must neither
// act on the other user's account nor show any of it.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, untilIdle } from '../support/browser.ts';
import { codeIn, denyDevice, deviceTokens, loginByMail, mailTo, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { registerPasskey } from '../support/passkeys.ts';
import {
  addAuthenticator,
  confirmed,
  deleteAccount,
  giveSession,
  oneOrganizationPerPage,
  signIn,
  signInByCode,
} from '../support/people.ts';
import { runOperator } from '../support/service.ts';

let people = 0;
const someone = (name: string) => `${name}-${people++}@example.com`;
const bearer = async (email: string) => (await loginByMail(service.url, email)).access_token;

/** Signs a user in in another tab of the same browser. */
async function signInBeside(page: Page, email: string): Promise<void> {
  const tab = await page.context().newPage();
  await signInByCode(tab, service.url, email);
  await tab.close();
}

/** Gives an account a passkey, a device and more than one page of events. */
async function fill(email: string, terminal: string): Promise<string> {
  const token = await bearer(email);
  await deviceTokens(service.url, token, { device_name: terminal });
  await registerPasskey(service.url, token, `key of ${email}`);
  for (let n = 0; n < 12; n++) await denyDevice(service.url, token);
  return token;
}

/** Everything the API returns about an account, except when its sessions were last used. */
async function accountOf(token: string): Promise<unknown> {
  const lists = ['/me', '/passkeys', '/sessions', '/organizations', '/events?limit=100'];
  const answers = await Promise.all(lists.map((path) => request(service.url, 'GET', path, { token })));
  expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200));
  const text = JSON.stringify(answers.map(({ body }) => body));
  return text.replaceAll(/"last_used_at":"[^"]+"/g, '');
}

const otherUserDialog = (page: Page) =>
  page.getByRole('dialog', { name: "You're signed in to a different account" });

async function expectAndDismissDialog(page: Page, email: string): Promise<void> {
  await otherUserDialog(page).getByText(email).waitFor();
  await otherUserDialog(page).getByRole('button', { name: 'Stay on this page' }).click();
  await otherUserDialog(page).waitFor({ state: 'detached' });
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first().click();

test('no action or list on the account page reaches another user who has signed in since', async () => {
  const [shown, newer] = [someone('shown'), someone('newer')];
  await fill(shown, 'device of the one shown');
  const otherToken = await fill(newer, 'device of the newer one');
  const page = await newPage();
  await signIn(page, service.url, shown);
  await page.locator('#events > li').nth(9).waitFor();
  await page.locator('#passkeys > li').waitFor();
  const organization = page.locator('#organizations > li');
  await organization.waitFor();
  await signInBeside(page, newer);
  const before = await accountOf(otherToken);

  await press(page, 'Change email');
  await page.getByLabel('New email address').fill('newest@example.com');
  await press(page, 'Send confirmation link');
  await expectAndDismissDialog(page, newer);
  expect(await page.getByLabel('New email address').inputValue()).toBe('newest@example.com');
  await page.getByRole('region', { name: 'Profile' }).getByRole('button', { name: 'Cancel' }).click();
  await press(page, 'Edit profile');
  await page.getByLabel('Name', { exact: true }).fill('Of the one shown');
  await press(page, 'Save');
  await otherUserDialog(page).getByText(`still shows the account of ${shown}`).waitFor();
  await expectAndDismissDialog(page, newer);
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Of the one shown');
  await press(page, 'Rename');
  await page.getByLabel('New name').fill('renamed');
  await page.locator('#passkeys').getByRole('button', { name: 'Save' }).click();
  await expectAndDismissDialog(page, newer);
  await page.locator('#passkeys').getByRole('button', { name: 'Cancel' }).click();
  await press(page, 'Remove');
  await press(page, 'Remove passkey');
  await expectAndDismissDialog(page, newer);
  await press(page, 'Add a passkey');
  await expectAndDismissDialog(page, newer);
  await confirmed(page.locator('#sessions'), 'End session');
  await expectAndDismissDialog(page, newer);
  await confirmed(page, 'End other sessions');
  await expectAndDismissDialog(page, newer);
  await press(page, 'Sign out');
  await expectAndDismissDialog(page, newer);
  await press(page, 'Sign out everywhere');
  await press(page, 'Yes, sign out everywhere');
  await expectAndDismissDialog(page, newer);
  await page.keyboard.press('Escape');
  await page.locator('#more-events').click();
  await expectAndDismissDialog(page, newer);
  await deleteAccount(page, shown);
  await expectAndDismissDialog(page, newer);
  await page.keyboard.press('Escape');

  expect(await accountOf(otherToken)).toEqual(before);
  expect(await page.locator('#events > li').count()).toBe(10);
  expect(await page.locator('#passkeys').innerText()).toContain(`key of ${shown}`);
  const text = await page.locator('main').innerText();
  expect(text).toContain('device of the one shown');
  expect(text).not.toContain('device of the newer one');
  expect(text).not.toContain(newer);

  // Once the first user is back, what was typed can be saved.
  await signInBeside(page, shown);
  await page.getByRole('region', { name: 'Profile' }).getByRole('button', { name: 'Save' }).click();
  await page.getByText('Profile saved.').waitFor();
});

test('further pages of a list never come from another user', async () => {
  const create = ['organizations', 'create', '--slug', 'pages', '--name', 'Pages'];
  expect((await runOperator(service.env, ...create)).code).toBe(0);
  const [shown, newer] = [someone('shown'), someone('newer')];
  for (const email of [shown, newer]) {
    await bearer(email);
    const add = ['organizations', 'add-member', '--slug', 'pages', '--email', email, '--role', 'admin'];
    expect((await runOperator(service.env, ...add)).code).toBe(0);
  }
  const page = await newPage();
  await oneOrganizationPerPage(page);
  await signIn(page, service.url, shown);
  await page.locator('#more-organizations').waitFor();
  await signInBeside(page, newer);
  await page.locator('#more-organizations').click();
  await expectAndDismissDialog(page, newer);
  expect(await page.locator('#organizations > li').count()).toBe(1);
});

test('a user who signs in between the click and the request loses nothing', async () => {
  const [shown, newer] = [someone('shown'), someone('newer')];
  const otherToken = await bearer(newer);
  const page = await newPage();
  await signIn(page, service.url, shown);
  await untilIdle(page);
  const before = await accountOf(otherToken);
  const requests: string[] = [];
  let after: unknown;
  await page.route('**/api/v1/auth/**', async (route) => {
    requests.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
    if (route.request().method() === 'DELETE') {
      await signInBeside(page, newer);
      after = await accountOf(otherToken);
    }
    await route.continue();
  });
  await deleteAccount(page, shown);
  await expectAndDismissDialog(page, newer);
  // The action is sent at once. Only after a refusal does the page ask who is signed in.
  expect(requests).toEqual(['DELETE /api/v1/auth/me', 'GET /api/v1/auth/me']);
  expect(after).not.toEqual(before);
  expect(await accountOf(otherToken)).toEqual(after);
});

test('a confirmed action is not carried out as another user who signs in after the confirmation', async () => {
  const [shown, newer] = [someone('shown'), someone('newer')];
  const otherToken = await bearer(newer);
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
  await deleteAccount(page, shown);
  const dialog = page.getByRole('dialog', { name: "Confirm it's you" });
  await dialog.getByRole('button', { name: 'Email me a code' }).click();
  const { text } = await mailTo(service.url, shown, 1);
  await dialog.getByLabel('Code from the email').fill(codeIn({ text }));
  await dialog.getByLabel('Code from the email').press('Enter');
  await expectAndDismissDialog(page, newer);
  await accountOf(otherToken);
  await accountOf(await bearer(shown));
});

test('a passkey created while another user signs in is not registered, and the browser discards it', async () => {
  const [shown, newer] = [someone('shown'), someone('newer')];
  const otherToken = await bearer(newer);
  const page = await newPage();
  await signIn(page, service.url, shown);
  const { cdp, authenticatorId } = await addAuthenticator(page);
  const kept = async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
  let made = 0;
  await page.route('**/passkey/register', async (route) => {
    made = (await kept()).length;
    await signInBeside(page, newer);
    await route.continue();
  });
  await press(page, 'Add a passkey');
  await expectAndDismissDialog(page, newer);
  expect(made).toBe(1);
  expect(await kept()).toEqual([]);
  for (const token of [otherToken, await bearer(shown)])
    expect((await request(service.url, 'GET', '/passkeys', { token })).body.passkeys).toEqual([]);
});

test('a device that one user reviews is neither looked up, approved nor denied as another user', async () => {
  const device = (await request(service.url, 'POST', '/device')).body;
  const poll = () =>
    request(service.url, 'POST', '/token', { json: { device_code: device.device_code } }).then(
      ({ body }) => body.error,
    );
  const [looking, since] = [someone('looking'), someone('since')];
  const page = await newPage();
  await giveSession(page, service.url, looking);
  await page.goto(`${service.url}/device`);
  await page.getByText(`Signed in as ${looking}`).waitFor();
  const review = await page.context().newPage();
  await review.goto(device.verification_uri_complete);
  await review.locator('#approve').waitFor();
  await signInBeside(page, since);
  await page.getByLabel('Code from your device').fill(device.user_code);
  await press(page, 'Continue');
  await expectAndDismissDialog(page, since);
  await page.getByRole('alert').getByText('Nothing was changed').waitFor();
  await press(review, 'Approve');
  await expectAndDismissDialog(review, since);
  await press(review, 'Deny');
  await otherUserDialog(review).getByText(since).waitFor();
  expect(await poll()).toBe('authorization_pending');
  await otherUserDialog(review).getByRole('button', { name: 'Reload page' }).click();
  await review.getByText(`Signed in as ${since}`).waitFor();
});
