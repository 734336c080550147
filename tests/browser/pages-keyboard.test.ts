// Keyboard-only journeys: every step is reached by Tab, activated by Enter or Space, and leaves the focus where the
// user continues.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { codeIn, deviceTokens, linkTokenIn, loginByMail, mailTo, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { giveAuthenticator, linkTo, newAddress, signedIn, startDevice, tabTo } from '../support/people.ts';
import { focusIn } from '../support/tree.ts';
import { until } from '../support/until.ts';

/** Waits for the focus, which a step moves in the next frame. */
async function focusGoesTo(page: Page, expected: string): Promise<void> {
  let focus = '';
  await until(
    async () => {
      focus = await focusIn(page);
      return focus === expected;
    },
    () => `the focus on ${expected}, which is on ${focus}`,
  );
}

/** Tabs to a button or link, activates it and checks where the focus goes. */
async function press(page: Page, name: string, focus: string, key = 'Enter'): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press(key);
  await focusGoesTo(page, focus);
}

async function typeAndEnter(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+A');
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
}

async function openAccount(): Promise<{ page: Page; email: string; token: string }> {
  const page = await newPage();
  const email = newAddress();
  await giveAuthenticator(page);
  const token = await signedIn(page, service.url, email);
  await page.goto(`${service.url}/account`);
  await page.locator('#sessions > li').nth(1).waitFor();
  return { page, email, token };
}

test('a keyboard user signs in with the emailed link, in the same browser and in another one', async () => {
  const email = newAddress();
  const page = await newPage();
  await page.goto(`${service.url}/login`);
  await focusGoesTo(page, 'textbox "Email address"');
  await typeAndEnter(page, email);
  await focusGoesTo(page, 'textbox "Code from the email"');
  await page.goto(`${service.url}/magic-link#token=${linkTokenIn(await mailTo(service.url, email))}`);
  await tabTo(page, `Sign in as ${email}`);
  await page.keyboard.press('Space');
  await page.waitForURL(`${service.url}/account`);
  await page.context().close();

  await request(service.url, 'POST', '/magic_link', { json: { email } });
  const elsewhere = await newPage();
  await elsewhere.goto(`${service.url}/magic-link#token=${linkTokenIn(await mailTo(service.url, email, 1))}`);
  await focusGoesTo(elsewhere, 'textbox "Email address"');
  await typeAndEnter(elsewhere, newAddress());
  await elsewhere.getByRole('alert').getByText('This link was not sent to').waitFor();
  await focusGoesTo(elsewhere, 'textbox "Email address"');
  await typeAndEnter(elsewhere, email);
  await elsewhere.waitForURL(`${service.url}/account`);
});

test('a keyboard user signs in with the emailed code', async () => {
  const email = newAddress();
  const page = await newPage();
  await page.goto(`${service.url}/login`);
  await focusGoesTo(page, 'textbox "Email address"');
  await typeAndEnter(page, email);
  await focusGoesTo(page, 'textbox "Code from the email"');
  await typeAndEnter(page, codeIn(await mailTo(service.url, email)));
  await page.waitForURL(`${service.url}/account`);
});

test('a keyboard user compares the code of a device and approves it', async () => {
  const { page } = await openAccount();
  const { user_code, device_code } = await startDevice(service.url);
  await page.goto(`${service.url}/device`);
  await focusGoesTo(page, 'textbox "Code from your device"');
  await typeAndEnter(page, user_code.toLowerCase());
  await focusGoesTo(page, 'heading "Let this device sign in as you?"');
  await press(page, 'Approve', 'heading "Approved"', 'Space');
  expect((await request(service.url, 'POST', '/token', { json: { device_code } })).status).toBe(200);
});

test('a keyboard user adds a passkey, signs out, and signs in with it to deny a device', async () => {
  const { page } = await openAccount();
  await press(page, 'Add a passkey', 'heading "Passkeys"', 'Space');
  await tabTo(page, 'Sign out');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/login/);
  await page.goto((await startDevice(service.url)).verification_uri_complete);
  await page.waitForURL(/\/login\?next=/);
  await tabTo(page, 'Sign in with a passkey');
  await page.keyboard.press('Space');
  await focusGoesTo(page, 'heading "Let this device sign in as you?"');
  await press(page, 'Deny', 'heading "Denied"');
});

test('a keyboard user answers the questions behind emailed links', async () => {
  const [former, email] = [newAddress(), newAddress()];
  const { access_token: token } = await loginByMail(service.url, former);
  await request(service.url, 'POST', '/me/email', { token, json: { email } });
  const page = await newPage();
  const link = await linkTo(service.url, email, 'Confirm your new address');
  await page.goto(link);
  await press(page, "Don't change", 'heading "Nothing was changed"');
  await page.goto(link);
  await page.getByRole('heading', { name: 'Confirm your new email' }).waitFor();
  await tabTo(page, 'Current email address');
  await page.keyboard.type(former);
  await press(page, 'Change email', 'heading "Email changed"', 'Space');
  await page.goto(await linkTo(service.url, former, 'address of your Latchkey account was changed'));
  await press(page, "This wasn't me", 'heading "Thanks for letting us know"');
  await tabTo(page, 'your account');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/login/);
});

test('a keyboard user edits the profile and requests an email change', async () => {
  const { page } = await openAccount();
  await press(page, 'Edit profile', 'textbox "Name"');
  await typeAndEnter(page, 'Typed blindly');
  await page.getByText('Profile saved.').waitFor();
  await focusGoesTo(page, 'button "Edit profile"');
  await press(page, 'Change email', 'textbox "New email address"');
  await typeAndEnter(page, 'nonsense');
  await page.getByRole('alert').getByText("doesn't look like an email address").waitFor();
  await focusGoesTo(page, 'textbox "New email address"');
  await press(page, 'Cancel', 'button "Change email"');
  await page.keyboard.press('Enter');
  await focusGoesTo(page, 'textbox "New email address"');
  await typeAndEnter(page, newAddress());
  await page.getByText('We sent a link to').waitFor();
  await focusGoesTo(page, 'button "Change email"');
});

test('a keyboard user signs out one session, then all others, and reads the activity list', async () => {
  const { page, token } = await openAccount();
  for (let count = 0; count < 3; count++) await deviceTokens(service.url, token);
  await page.reload();
  await page.locator('#sessions > li').nth(4).waitFor();
  for (const [name, question] of [
    ['End session', 'End the session of Device? It has to sign in again.'],
    ['End other sessions', 'End all sessions but this one? They have to sign in again.'],
  ] as const) {
    await press(page, name, `generic "${question}"`);
    await press(page, 'Cancel', `button "${name}"`);
    await press(page, name, `generic "${question}"`);
    await page.keyboard.press('Escape');
    await focusGoesTo(page, `button "${name}"`);
    await press(page, name, `generic "${question}"`);
    await press(page, name, 'heading "Sessions"');
  }
  const detail = page.locator('#events > li details').first();
  while (!(await detail.locator('summary').evaluate((one) => one === document.activeElement)))
    await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await detail.locator('q.untrusted').first().waitFor();
});

test('a keyboard user cancels signing out everywhere, then does it and gets a confirmation', async () => {
  const { page } = await openAccount();
  await tabTo(page, 'Sign out everywhere');
  await page.keyboard.press('Enter');
  await focusGoesTo(page, 'heading "Sign out everywhere?"');
  await press(page, 'Cancel', 'button "Sign out everywhere"');
  await page.keyboard.press('Enter');
  await focusGoesTo(page, 'heading "Sign out everywhere?"');
  await tabTo(page, 'Yes, sign out everywhere');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/login$/);
  await page.getByRole('status').getByText("You're signed out everywhere").waitFor();
  await focusGoesTo(page, 'textbox "Email address"');
});

test('a dialog that is cancelled and opened again at once stays open', async () => {
  const { page } = await openAccount();
  await page.getByRole('button', { name: 'Delete account' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Cancel' }).evaluate(async (cancel: HTMLElement) => {
    cancel.click();
    while (cancel.isConnected) await Promise.resolve();
    document.getElementById('delete-account')?.click();
  });
  await dialog.waitFor();
  // By then the first dialog has told that it was closed.
  await page.evaluate(
    () => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))),
  );
  expect(await dialog.isVisible()).toBe(true);
});

test('a signed-in keyboard user continues from the sign-in page or switches accounts', async () => {
  const { page } = await openAccount();
  await page.goto(`${service.url}/login?next=%2Fdevice`);
  await focusGoesTo(page, 'heading "You\'re signed in"');
  await press(page, 'Use a different account', 'textbox "Email address"');
  await page.reload();
  await focusGoesTo(page, 'heading "You\'re signed in"');
  await press(page, 'Continue', 'textbox "Code from your device"');
});

test('a keyboard user cancels deleting the account, then deletes it', async () => {
  const { page, email, token } = await openAccount();
  await tabTo(page, 'Delete account');
  await page.keyboard.press('Enter');
  await focusGoesTo(page, 'heading "Delete account?"');
  await press(page, 'Cancel', 'button "Delete account"');
  await page.keyboard.press('Enter');
  await focusGoesTo(page, 'heading "Delete account?"');
  const label = 'Enter your email address to confirm';
  await tabTo(page, label);
  await page.keyboard.type(newAddress());
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText("isn't the email address of this account").waitFor();
  await focusGoesTo(page, `textbox "${label}"`);
  await page.keyboard.press('Control+A');
  await page.keyboard.type(email.toUpperCase());
  await tabTo(page, 'Permanently delete account');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/login$/);
  expect((await request(service.url, 'GET', '/me', { token })).status).toBe(401);
});
