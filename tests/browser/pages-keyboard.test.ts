// Keyboard-only journeys: every step is reached by Tab, activated by Enter or Space, and leaves the focus where the
// user continues.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { outcome } from '#support/account.ts';
import { newPage } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { pollDevice, startDevice } from '#support/devices.ts';
import { codeIn, linkTokenIn, mailTo } from '#support/http.ts';
import {
  alerted,
  giveAuthenticator,
  headed,
  linkTo,
  newAddress,
  signedIn,
  signIn,
  tabTo,
} from '#support/people.ts';
import { focusIn } from '#support/tree.ts';
import { until } from '#support/until.ts';

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

/** Tabs to a button or link, activates it and checks where the focus goes, if this page stays. */
async function press(page: Page, name: string, focus?: string, key = 'Enter'): Promise<void> {
  await tabTo(page, name);
  await page.waitForFunction(() => document.activeElement?.ariaDisabled !== 'true');
  await page.keyboard.press(key);
  if (focus !== undefined) await focusGoesTo(page, focus);
}

/** Types into the field that has the focus, and submits its form. */
async function enter(page: Page, field: string, text: string): Promise<void> {
  await focusGoesTo(page, `textbox "${field}"`);
  await page.keyboard.press('Control+A');
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
}

/** Waits for the sign-in page, which says how one left, until it is opened again. */
async function isToldOnce(page: Page, text: string): Promise<void> {
  await page.waitForURL(/\/login$/);
  await page.getByRole('status').getByText(text).waitFor();
  await page.reload();
  await focusGoesTo(page, 'textbox "Email address"');
  expect(await page.getByText(text).count()).toBe(0);
}

const atAccount = (page: Page) => page.waitForURL(`${service.url}/account`);

async function openAccount(): Promise<{ page: Page; email: string; token: string }> {
  const page = await newPage();
  const email = newAddress();
  await giveAuthenticator(page);
  const token = await signedIn(page, service.url, email);
  await page.goto(`${service.url}/account`);
  await page.locator('#sessions > li').nth(1).waitFor();
  return { page, email, token };
}

test('a keyboard user signs in with the emailed code, and with the link in the same browser and in another one', async () => {
  const email = newAddress();
  const link = (mail: { to: string; subject: string; text: string }) =>
    `${service.url}/magic-link#token=${linkTokenIn(mail)}`;
  for (const seen of [0, 1]) {
    const page = await newPage();
    await page.goto(`${service.url}/login`);
    await enter(page, 'Email address', email);
    await focusGoesTo(page, 'textbox "Code from the email"');
    const mail = await mailTo(service.url, email, seen);
    if (seen === 0) await enter(page, 'Code from the email', codeIn(mail));
    else {
      await page.goto(link(mail));
      await press(page, `Sign in as ${email}`, undefined, 'Space');
    }
    await atAccount(page);
    await page.context().close();
  }
  await service.ask('POST', '/magic_link', { json: { email } });
  const elsewhere = await newPage();
  await elsewhere.goto(link(await mailTo(service.url, email, 2)));
  await enter(elsewhere, 'Email address', newAddress());
  await alerted(elsewhere, 'This link was not sent to');
  await enter(elsewhere, 'Email address', email);
  await atAccount(elsewhere);
});

test('a keyboard user approves a device, adds a passkey, signs out, and signs in with it to deny another device', async () => {
  const { page } = await openAccount();
  const device = await startDevice(service);
  await page.goto(`${service.url}/device`);
  await enter(page, 'Code from your device', device.user_code.toLowerCase());
  await focusGoesTo(page, 'heading "Let this device sign in as you?"');
  await press(page, 'Approve', 'heading "Approved"', 'Space');
  expect(outcome(await pollDevice(service, device))).toBe('200');

  await page.goto(`${service.url}/account`);
  await press(page, 'Add a passkey', 'heading "Passkeys"', 'Space');
  await press(page, 'Sign out');
  await isToldOnce(page, "You're signed out.");
  await page.goto((await startDevice(service)).verification_uri_complete);
  await page.waitForURL(/\/login\?next=/);
  await press(page, 'Sign in with a passkey', 'heading "Let this device sign in as you?"', 'Space');
  await press(page, 'Deny', 'heading "Denied"');
});

test('a keyboard user who opens the link of an email change must enter the current address and learns neither, and the security notice undoes the change', async () => {
  const [owner, stranger] = [await newPage(), await newPage()];
  const [former, email, another] = [newAddress(), newAddress(), newAddress()];
  await signIn(owner, service.url, former);
  await press(owner, 'Change email');
  // A browser that cut it to the maximum length would make another address of it.
  const tooLong = `${'a'.repeat(60)}@${`${'b'.repeat(60)}.`.repeat(3)}example.com`;
  await enter(owner, 'New email address', tooLong);
  await alerted(owner, "doesn't look like an email address");
  expect(await owner.getByLabel('New email address').inputValue()).toBe(tooLong);
  await enter(owner, 'New email address', email);
  await owner.getByText(`We sent a link to ${email}`).waitFor();
  await focusGoesTo(owner, 'button "Change email"');
  await signIn(stranger, service.url, another);
  const link = await linkTo(service.url, email, 'Confirm your new address');
  const beside = await owner.context().newPage();
  await beside.goto(link);
  await beside.getByText(`will change from ${former} to ${email}`).waitFor();
  expect(await beside.getByRole('textbox').count()).toBe(0);
  await stranger.goto(link);
  await press(stranger, "Don't change", 'heading "Nothing was changed"');
  await stranger.goto(link);
  await headed(stranger, 'Confirm your new email');
  await tabTo(stranger, 'Current email address');
  await enter(stranger, 'Current email address', '');
  await alerted(stranger, 'Enter your email address.');
  await enter(stranger, 'Current email address', another);
  await alerted(stranger, "Check that you entered the account's current email");
  expect(await stranger.locator('main').innerText()).not.toMatch(new RegExp(`${former}|${email}`));
  await focusGoesTo(stranger, 'textbox "Current email address"');
  await stranger.keyboard.press('Control+A');
  await stranger.keyboard.type(former.toUpperCase());
  await press(stranger, 'Change email', 'heading "Email changed"', 'Space');
  expect(await stranger.locator('#new-email').innerText()).toBe(email);
  await owner.reload();
  expect(await owner.locator('#profile-email').innerText()).toBe(email);

  await stranger.goto(await linkTo(service.url, former, 'address of your Latchkey account was changed'));
  await press(stranger, "This wasn't me", 'heading "Thanks for letting us know"');
  expect(await stranger.locator('#restored-email').innerText()).toBe(former);
  await press(stranger, 'your account');
  await stranger.locator('#profile-email').getByText(another).waitFor();
  await owner.reload();
  await owner.waitForURL(/\/login/);
});

test('whatever a keyboard user opens on the account page takes the focus, and gives it back when it is cancelled', async () => {
  const { page } = await openAccount();
  const question = (text: string) => `generic "${text} to sign in again."`;
  for (const [name, focus, closesOnEscape] of [
    ['Edit profile', 'textbox "Name"', false],
    ['Change email', 'textbox "New email address"', false],
    ['End session', question('End the session of Browser? It has'), true],
    ['End other sessions', question('End all sessions but this one? They have'), true],
    ['Create API key', 'textbox "Name"', false],
    ['Sign out everywhere', 'heading "Sign out everywhere?"', true],
    ['Delete account', 'heading "Delete account?"', true],
  ] as const) {
    await press(page, name, focus);
    await press(page, 'Cancel', `button "${name}"`);
    if (!closesOnEscape) continue;
    await page.keyboard.press('Enter');
    await focusGoesTo(page, focus);
    await page.keyboard.press('Escape');
    await focusGoesTo(page, `button "${name}"`);
  }
  await press(page, 'Sign out everywhere');
  await press(page, 'Yes, sign out everywhere');
  await isToldOnce(page, "You're signed out everywhere");
});

test('a signed-in keyboard user continues from the sign-in page or switches accounts, and deletes the account', async () => {
  const { page, email, token } = await openAccount();
  await page.goto(`${service.url}/login?next=%2Fdevice`);
  await focusGoesTo(page, 'heading "You\'re signed in"');
  await press(page, 'Use a different account', 'textbox "Email address"');
  await page.reload();
  await focusGoesTo(page, 'heading "You\'re signed in"');
  await press(page, 'Continue', 'textbox "Code from your device"');
  await page.goto(`${service.url}/account`);
  await press(page, 'Delete account');
  const label = 'Enter your email address to confirm';
  await tabTo(page, label);
  await enter(page, label, newAddress());
  await alerted(page, "isn't the email address of this account");
  await enter(page, label, email.toUpperCase());
  await isToldOnce(page, 'Your account has been deleted.');
  expect((await service.ask('GET', '/me', { token })).status).toBe(401);
});
