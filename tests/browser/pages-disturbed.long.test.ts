// Disturbances on the account and device pages: clicking twice, losing the connection, reloading, and continuing after the
// session has ended or another user has signed in, on whose account the page must not act, and of which it must show nothing.

import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPasskey, outcome } from '#support/account.ts';
import { goOffline, newPage, untilLoaded } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import {
  addAuthenticator,
  button,
  changesBy,
  giveAuthenticator,
  giveSession,
  newAddress,
  phone,
  pressed,
  requestsOf,
  signedIn,
  signInByCode,
  signInHere,
  titled,
} from '#support/people.ts';

const unreachable = (page: Page) => page.getByRole('alert').getByText("Couldn't reach Latchkey").first();
const sessions = (page: Page) => page.locator('#sessions > li');

const atLogin = (page: Page) => page.waitForURL(/\/login/);
const typing = (open: string, label: string, text: string) => async (page: Page) => {
  await button(page, open).click();
  await page.getByLabel(label, { exact: true }).fill(text);
};
/** Opens a question by a double click, of which the second must not confirm it. */
const asking = (open: string) => (page: Page) => button(page, open).dblclick();
const nothing = async () => {};
const deletion = async (page: Page) => {
  await asking('Delete account')(page);
  const email = await page.locator('#profile-email').innerText();
  await page.getByLabel('Enter your email address to confirm').fill(email);
};

/** By the request that must be sent once, as the start of method and path. */
type Action = readonly [
  call: string,
  button: string,
  /** What the page then says. Without it, the sign-in page follows. */
  done: string | undefined,
  /** Opens whatever leads to the button. */
  begin: (page: Page) => Promise<void>,
];

const actions: Action[] = [
  ['PATCH /me', 'Save', 'Profile saved.', typing('Edit profile', 'Name', 'Typed once')],
  [
    'POST /me/email',
    'Send confirmation link',
    'We sent a link',
    typing('Change email', 'New email address', newAddress()),
  ],
  ['POST /passkey/register', 'Add a passkey', 'Passkey added', nothing],
  ['PATCH /passkeys/', 'Save', 'Passkey renamed to New key.', typing('Rename', 'New name', 'New key')],
  ['DELETE /passkeys/', 'Remove passkey', 'Passkey removed: Old key.', asking('Remove')],
  ['DELETE /sessions/', 'End session', 'Session ended.', asking('End session')],
  ['DELETE /sessions/', 'End other sessions', 'All other sessions ended', asking('End other sessions')],
  ['DELETE /logout', 'Sign out', undefined, nothing],
  ['DELETE /logout', 'Yes, sign out everywhere', undefined, asking('Sign out everywhere')],
  ['DELETE /me', 'Permanently delete account', undefined, deletion],
];

/** The account page of a user with one passkey and one other session. */
async function openAccount(): Promise<{ page: Page; token: string }> {
  const page = await newPage(phone);
  await giveAuthenticator(page);
  const token = await signedIn(page, service.url, newAddress());
  await newPasskey(service, { access_token: token }, { name: 'Old key' });
  await page.goto(`${service.url}/account`);
  await sessions(page).nth(1).waitFor();
  await untilLoaded(page);
  return { page, token };
}

/** Clicks twice before the page can show what the first click did. */
const clickTwice = (page: Page, name: string): Promise<void> =>
  page
    .getByRole('button', { name, exact: true, disabled: false })
    .first()
    .evaluate((found: HTMLElement) => {
      found.click();
      found.click();
    });

test.each(actions)(
  '%s, by the button "%s", recovers from a lost connection, and runs once for two clicks',
  async (call, name, done, begin) => {
    const { page } = await openAccount();
    await begin(page);
    const changes = changesBy(page.context());
    await goOffline(page);
    await button(page, name).click();
    await unreachable(page).waitFor();
    await page.context().setOffline(false);
    await clickTwice(page, name);
    await (done ? page.getByText(done).waitFor() : atLogin(page));
    expect(changes.filter((one) => one.startsWith(call))).toHaveLength(1);
  },
);

const typedIn = (page: Page) =>
  page.locator('main input').evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));

/** Tries every action, each of which must be sent at once, then open this dialog and keep what was typed. */
async function tryAll(page: Page, title: string, text: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: title });
  const sent = requestsOf(page);
  for (const [, name, , begin] of actions) {
    await begin(page);
    const typed = await typedIn(page);
    sent.length = 0;
    await button(page, name).click();
    await dialog.getByText(text).waitFor();
    // Whose account it is, the service decides with the request: asking first would be too early.
    expect([name, sent[0] !== 'GET /me']).toEqual([name, true]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect([name, await typedIn(page)]).toEqual([name, typed]);
    // So that the next action finds its buttons.
    if (await button(page, 'Cancel').isVisible()) await pressed(page, 'Cancel');
  }
}

test('after the session has ended, every action opens a dialog to sign in again and keeps what was typed', async () => {
  const { page, token } = await openAccount();
  await service.ask('POST', '/revoke', { token });
  const title = "You're signed out";
  await tryAll(page, title, "Your last change wasn't saved");
  await pressed(page, 'Sign out');
  await page.getByRole('dialog', { name: title }).getByRole('link', { name: 'Sign in again' }).click();
  await page.waitForURL(`${service.url}/login?next=%2Faccount`);
});

test('once another user has signed in, no action or list of the page reaches or shows them; once the first user is back, what was typed can be saved', async () => {
  const { page, token } = await openAccount();
  const shown = await page.locator('#profile-email').innerText();
  for (let n = 0; n < 10; n++)
    await decideDevice(service, 'deny', await startDevice(service), { access_token: token });
  await page.reload();
  await page.locator('#more-events').waitFor();
  await untilLoaded(page);
  const newer = newAddress();
  const other = await service.login(newer);
  await service.deviceLogin(other, { device_name: 'device of the newer one' });
  await newPasskey(service, other, { name: 'key of the newer one' });
  const beside = await page.context().newPage();
  await signInByCode(beside, service.url, newer);
  const account = async () => {
    const lists = ['/me', '/passkeys', '/sessions', '/organizations', '/events?limit=100'];
    const answers = await Promise.all(
      lists.map((path) => service.ask('GET', path, { token: other.access_token })),
    );
    expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200));
    return JSON.stringify(answers.map(({ body }) => body)).replaceAll(/"last_used_at":"[^"]+"/g, '');
  };
  const before = await account();
  const title = "You're signed in to a different account";
  await tryAll(page, title, `signed in as ${newer}`);
  await page.locator('#more-events').click();
  await page.getByRole('dialog', { name: title }).getByText(`still shows the account of ${shown}`).waitFor();
  await pressed(page, 'Stay on this page');
  expect(await account()).toBe(before);
  expect(await page.locator('#events > li').count()).toBe(10);
  const text = await page.locator('main').innerText();
  expect(text).toContain('Old key');
  expect(text).not.toMatch(new RegExp(`newer one|${newer}`));

  await pressed(page, 'Edit profile');
  await page.getByLabel('Name', { exact: true }).fill('Of the one shown');
  await pressed(page, 'Save');
  await pressed(page, 'Stay on this page');
  await signInByCode(beside, service.url, shown);
  await pressed(page, 'Save');
  await page.getByText('Profile saved.').waitFor();
});

const otherUserDialog = (page: Page) =>
  page.getByRole('dialog', { name: "You're signed in to a different account" });

async function expectAndDismissDialog(page: Page, email: string): Promise<void> {
  await otherUserDialog(page).getByText(email).waitFor();
  await otherUserDialog(page).getByRole('button', { name: 'Stay on this page' }).click();
  await otherUserDialog(page).waitFor({ state: 'detached' });
}

test('a passkey created while another user signs in is not registered, and the browser discards it', async () => {
  const [shown, newer] = [newAddress(), newAddress()];
  const page = await newPage();
  await signInByCode(page, service.url, shown);
  const { credentials } = await addAuthenticator(page);
  const tab = await page.context().newPage();
  let made = 0;
  await page.route('**/passkey/register', async (route) => {
    made = (await credentials()).length;
    await signInByCode(tab, service.url, newer);
    await route.continue();
  });
  await pressed(page, 'Add a passkey');
  await expectAndDismissDialog(page, newer);
  expect(made).toBe(1);
  expect(await credentials()).toEqual([]);
  for (const email of [shown, newer]) {
    const { access_token: token } = await service.login(email);
    expect((await service.ask('GET', '/passkeys', { token })).body.passkeys).toEqual([]);
  }
});

test('the second click of a double click does nothing, whatever the first one put under the pointer', async () => {
  const { page } = await openAccount();
  await button(page, 'End session').click();
  const changes = changesBy(page.context());
  await button(page, 'End session').first().dispatchEvent('click', { detail: 2 });
  // Anything the second click started would finish before this.
  await button(page, 'Sign out').click();
  await atLogin(page);
  expect(changes.filter((one) => one.startsWith('DELETE /sessions/'))).toEqual([]);
});

const openDevice = async () => {
  const page = await newPage(phone);
  const token = await signedIn(page, service.url, newAddress());
  const device = await startDevice(service);
  return { page, token, device };
};

describe.each([
  ['approving', 'Approve', 'Approved', '200'],
  ['denying', 'Deny', 'Denied', '400 access_denied'],
] as const)('%s a device', (_, decision, done, polled) => {
  test('recovers from two lost connections, runs once for two clicks, and not again after a reload', async () => {
    const { page, device } = await openDevice();
    const changes = changesBy(page.context());
    await page.goto(`${service.url}/device`);
    await page.getByLabel('Code from your device').fill(device.user_code);
    await goOffline(page);
    await button(page, 'Continue').click();
    await unreachable(page).waitFor();
    expect(await page.getByLabel('Code from your device').inputValue()).toBe(device.user_code);
    await page.context().setOffline(false);
    await clickTwice(page, 'Continue');
    await titled(page, 'Let this device sign in as you?');
    await goOffline(page);
    await button(page, decision).click();
    await unreachable(page).waitFor();
    await page.context().setOffline(false);
    await clickTwice(page, decision);
    await titled(page, done);
    expect(changes.filter((one) => /approve|deny/.test(one))).toHaveLength(1);
    expect(outcome(await pollDevice(service, device))).toBe(polled);
    await page.reload();
    await titled(page, done);
    expect(changes.filter((one) => /approve|deny/.test(one))).toHaveLength(1);
  });
});

test('a session that ends before the code lookup or the decision leads to signing in and back to the code', async () => {
  const { page, token, device } = await openDevice();
  await page.goto(`${service.url}/device`);
  await page.getByLabel('Code from your device').fill(device.user_code);
  await service.ask('POST', '/revoke', { token });
  await button(page, 'Continue').click();
  await page.waitForURL(/\/login\?next=/);
  await page.getByText('A device is waiting with this code').waitFor();
  expect(await page.locator('#waiting output').innerText()).toBe(device.user_code);
  const email = newAddress();
  await signInHere(page, service.url, email);
  await titled(page, 'Let this device sign in as you?');
  const { access_token } = await service.login(email);
  await service.ask('POST', '/revoke', { token: access_token });
  await button(page, 'Approve').click();
  await page.waitForURL(/\/login\?next=/);
  expect(new URL(page.url()).searchParams.get('next')).toContain(device.user_code);
  expect(outcome(await pollDevice(service, device))).toBe('400 authorization_pending');
});

test('a device that one user reviews is neither looked up, approved nor denied as another user', async () => {
  const device = await startDevice(service);
  const [looking, since] = [newAddress(), newAddress()];
  const page = await newPage();
  await giveSession(page, service.url, looking);
  await page.goto(`${service.url}/device`);
  await page.getByText(`Signed in as ${looking}`).waitFor();
  const review = await page.context().newPage();
  await review.goto(device.verification_uri_complete);
  await review.locator('#approve').waitFor();
  await signInByCode(await page.context().newPage(), service.url, since);
  await page.getByLabel('Code from your device').fill(device.user_code);
  await pressed(page, 'Continue');
  await expectAndDismissDialog(page, since);
  await page.getByRole('alert').getByText('Nothing was changed').waitFor();
  await pressed(review, 'Approve');
  await expectAndDismissDialog(review, since);
  await pressed(review, 'Deny');
  await otherUserDialog(review).getByText(since).waitFor();
  expect(outcome(await pollDevice(service, device))).toBe('400 authorization_pending');
  await otherUserDialog(review).getByRole('button', { name: 'Reload page' }).click();
  await review.getByText(`Signed in as ${since}`).waitFor();
});
