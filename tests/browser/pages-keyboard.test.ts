// Journeys without a mouse: every step is reached by Tab, done by Enter or Space, and leaves the focus where a person
// goes on.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { linkTokenIn, loginByMail, mailTo, request } from '../support/http.ts';
import { linkTo, startDevice } from '../support/page-states.ts';
import { giveAuthenticator, signedIn, tabTo } from '../support/people.ts';
import { startService, type TestService } from '../support/service.ts';
import { focusIn } from '../support/tree.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});

afterAll(async () => {
  await service.stop();
});

const newAddress = () => `${crypto.randomUUID()}@example.com`;

/** Waits until the focus is there: what a step does to it comes with the next frame. */
async function focusGoesTo(page: Page, expected: string): Promise<void> {
  let focus = '';
  for (let tries = 0; tries < 100 && focus !== expected; tries++) {
    focus = await focusIn(page);
    if (focus !== expected) await Bun.sleep(50);
  }
  expect(focus).toBe(expected);
}

/** Goes on by Tab to a button or link and presses it; where the focus is after that. */
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

async function openAccount(): Promise<{ page: Page; token: string }> {
  const page = await newPage();
  await giveAuthenticator(page);
  const token = await signedIn(page, service.url, newAddress());
  await page.goto(`${service.url}/account`);
  await page.locator('#logins > li').nth(1).waitFor();
  return { page, token };
}

async function deviceLogin(token: string): Promise<void> {
  const { user_code, device_code } = await startDevice(service.url);
  await request(service.url, 'POST', '/device/approve', { token, json: { user_code } });
  await request(service.url, 'POST', '/token', { json: { device_code } });
}

test('by keyboard alone a person signs in by the link of the mail, here and in another browser', async () => {
  const email = newAddress();
  const page = await newPage();
  await page.goto(`${service.url}/login`);
  await focusGoesTo(page, 'textbox "Mail address"');
  await typeAndEnter(page, email);
  await focusGoesTo(page, 'heading "Check your mail"');
  await page.goto(`${service.url}/magic-link#token=${linkTokenIn(await mailTo(service.url, email))}`);
  await tabTo(page, `Sign in as ${email}`);
  await page.keyboard.press('Space');
  await page.waitForURL(`${service.url}/account`);
  await page.context().close();

  await request(service.url, 'POST', '/magic_link', { json: { email } });
  const elsewhere = await newPage();
  await elsewhere.goto(`${service.url}/magic-link#token=${linkTokenIn(await mailTo(service.url, email, 1))}`);
  await focusGoesTo(elsewhere, 'textbox "Mail address"');
  await typeAndEnter(elsewhere, newAddress());
  await elsewhere.getByRole('alert').getByText('This link did not work').waitFor();
  await focusGoesTo(elsewhere, 'textbox "Mail address"');
  await typeAndEnter(elsewhere, email);
  await elsewhere.waitForURL(`${service.url}/account`);
  await elsewhere.context().close();
});

test('by keyboard alone a person adds a passkey, signs out, and comes back to a device by it to deny it', async () => {
  const { page } = await openAccount();
  await press(page, 'Add a passkey', 'heading "Your passkeys"', 'Space');
  await tabTo(page, 'Sign out here');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/login/);
  await page.goto((await startDevice(service.url)).verification_uri_complete);
  await page.waitForURL(/\/login\?next=/);
  await tabTo(page, 'Sign in with a passkey');
  await page.keyboard.press('Space');
  await focusGoesTo(page, 'heading "Let this terminal sign in as you?"');
  await press(page, 'Deny', 'heading "Denied"');
  await page.context().close();
});

test('by keyboard alone a person answers the questions behind the links of mails', async () => {
  const [former, email] = [newAddress(), newAddress()];
  const { access_token: token } = await loginByMail(service.url, former);
  await request(service.url, 'POST', '/me/email', { token, json: { email } });
  const page = await newPage();
  const link = await linkTo(service.url, email, 'Confirm your new address');
  await page.goto(link);
  await press(page, 'No, leave it', 'heading "Nothing has changed"');
  await page.goto(link);
  await page.getByRole('heading', { name: 'Use this address for Latchkey?' }).waitFor();
  await tabTo(page, 'Current mail address');
  await page.keyboard.type(former);
  await press(page, 'Yes, use this address', 'heading "Your address is changed"', 'Space');
  await page.goto(await linkTo(service.url, former, 'address of your Latchkey account was changed'));
  await press(page, 'This was not me', 'heading "Taken care of"');
  await tabTo(page, 'your account');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/login/);
  await page.context().close();
});

test('by keyboard alone a person edits the profile and asks for another address', async () => {
  const { page } = await openAccount();
  await press(page, 'Edit the profile', 'textbox "Name"');
  await typeAndEnter(page, 'Typed blindly');
  await page.getByText('Your profile is saved.').waitFor();
  await focusGoesTo(page, 'button "Edit the profile"');
  await press(page, 'Change the address', 'textbox "New mail address"');
  await typeAndEnter(page, 'nonsense');
  await page.getByRole('alert').getByText('does not look like a mail address').waitFor();
  await focusGoesTo(page, 'textbox "New mail address"');
  await press(page, 'Cancel', 'button "Change the address"');
  await page.keyboard.press('Enter');
  await focusGoesTo(page, 'textbox "New mail address"');
  await typeAndEnter(page, newAddress());
  await page.getByText('We sent a mail to').waitFor();
  await focusGoesTo(page, 'button "Change the address"');
  await page.context().close();
});

test('by keyboard alone a person reads the log and signs out one login, and then all others', async () => {
  const { page, token } = await openAccount();
  for (let count = 0; count < 3; count++) await deviceLogin(token);
  await page.reload();
  await page.locator('#logins > li').nth(4).waitFor();
  await press(page, 'Sign out', 'heading "Where you are signed in"');
  await press(page, 'Sign out all others', 'heading "Where you are signed in"');
  const detail = page.locator('#events > li details').first();
  while (!(await detail.locator('summary').evaluate((one) => one === document.activeElement)))
    await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await detail.locator('q.claimed').first().waitFor();
  await page.context().close();
});

test('by keyboard alone a person stays signed in after all, and then signs out everywhere and is told so', async () => {
  const { page } = await openAccount();
  await tabTo(page, 'Sign out everywhere');
  await page.keyboard.press('Enter');
  await page.locator('.warning:focus').waitFor();
  await press(page, 'Stay signed in', 'button "Sign out everywhere"');
  await page.keyboard.press('Enter');
  await page.locator('.warning:focus').waitFor();
  await tabTo(page, 'Yes, sign out everywhere');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/login$/);
  await page.getByRole('status').getByText('You are signed out everywhere').waitFor();
  await focusGoesTo(page, 'textbox "Mail address"');
  await page.context().close();
});

test('by keyboard alone a person who is signed in already goes on from the login page, or signs in as somebody else', async () => {
  const { page } = await openAccount();
  await page.goto(`${service.url}/login?next=%2Fdevice`);
  await focusGoesTo(page, 'heading "You are signed in"');
  await press(page, 'Use another account', 'textbox "Mail address"');
  await page.reload();
  await focusGoesTo(page, 'heading "You are signed in"');
  await press(page, 'Continue', 'textbox "Code from your terminal"');
  await page.context().close();
});

test('by keyboard alone a person keeps the account after all, and then deletes it', async () => {
  const { page } = await openAccount();
  await tabTo(page, 'Delete my account');
  await page.keyboard.press('Enter');
  await page.locator('.warning:focus').waitFor();
  await press(page, 'Keep it', 'button "Delete my account"');
  await page.keyboard.press('Enter');
  await page.locator('.warning:focus').waitFor();
  await tabTo(page, 'Yes, delete it for good');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/login$/);
  await page.context().close();
});
