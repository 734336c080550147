// The sign-in page, when people reload, go back, click twice, use two tabs, lose the connection or block cookies.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, pauseClock } from '#support/browser.ts';
import { codeIn, mailTo, request } from '#support/http.ts';
import { service } from '#support/page-service.ts';
import {
  alerted,
  button,
  changesBy,
  cookiesBlocked,
  deleteAccount,
  disableCookies,
  giveSession,
  newAddress,
  phone,
  pressed,
  refuse,
  requestEmail as requestEmailAt,
  signIn,
  signInByCode,
  signInLink,
  titled,
} from '#support/people.ts';

const codeFor = async (email: string, seen = 0) => codeIn(await mailTo(service.url, email, seen));
const addressIn = (page: Page) => page.getByLabel('Email address');
const codeOn = (page: Page) => page.getByLabel('Code from the email');
const atAccount = (page: Page) => page.waitForURL(`${service.url}/account`);

/** The contents of local and session storage. */
const stored = (page: Page) => page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
const secret = /lk_[a-z]{2}_/;

/** A page that waits for the code of an email to a new address. */
async function waitingPage({
  path = '/login',
  withClock = false,
} = {}): Promise<{ page: Page; email: string }> {
  const page = await newPage(phone);
  if (withClock) {
    await page.clock.install();
    await pauseClock(page);
  }
  const email = newAddress();
  await requestEmailAt(page, service.url, email, path);
  return { page, email };
}

/** Uses the emailed link in another tab. */
async function useLink(page: Page, email: string): Promise<void> {
  const other = await page.context().newPage();
  await other.goto(await signInLink(service.url, email));
  await pressed(other, `Sign in as ${email}`);
  await atAccount(other);
}

test('rejects an overlong address instead of truncating it, keeps what was typed after a lost connection, and two clicks request one email and sign in once', async () => {
  const page = await newPage(phone);
  const changes = changesBy(page.context());
  await page.goto(`${service.url}/login`);
  const tooLong = `${'a'.repeat(60)}@${`${'b'.repeat(60)}.`.repeat(3)}example.com`;
  await addressIn(page).fill(tooLong);
  await pressed(page, 'Email me a link');
  await alerted(page, "doesn't look like an email address");
  expect(await addressIn(page).inputValue()).toBe(tooLong);
  changes.length = 0;

  const email = newAddress();
  await addressIn(page).fill(email);
  await page.context().setOffline(true);
  await pressed(page, 'Email me a link');
  await alerted(page, "Couldn't reach Latchkey");
  expect(await addressIn(page).inputValue()).toBe(email);
  await page.context().setOffline(false);
  await button(page, 'Email me a link').dblclick();
  const code = await codeFor(email);
  await codeOn(page).fill(code);
  await page.context().setOffline(true);
  await pressed(page, 'Sign in');
  await alerted(page, "Couldn't reach Latchkey");
  expect(await codeOn(page).inputValue()).toBe(code);
  await page.context().setOffline(false);
  await button(page, 'Sign in').dblclick();
  await atAccount(page);
  expect(changes).toEqual(['POST /magic_link', 'POST /magic_link/verify']);
});

test('says that earlier emails still work when no more can be sent, and marks no code as wrong', async () => {
  const { page } = await waitingPage();
  await refuse(page, 'magic_link', [429, 'rate_limited', { 'Retry-After': '600' }]);
  await pressed(page, 'Send a new email');
  await alerted(page, 'Earlier emails still work. Try again in 10 minutes');
  expect(await codeOn(page).getAttribute('aria-invalid')).toBe('false');
});

test('accepts the code after a reload or going back, in the tab that requested it, and continues to the right page', async () => {
  const { page, email } = await waitingPage({ path: '/login?next=%2Fdevice' });
  await page.reload();
  await titled(page, 'Check your email');
  await page.getByText(`We sent an email to ${email}`).waitFor();
  await page.goto(`${service.url}/docs`);
  await page.goBack();
  await titled(page, 'Check your email');
  await page.goto(`${service.url}/login`);
  await codeOn(page).fill((await codeFor(email)).replace('-', '\u2212'));
  await pressed(page, 'Sign in');
  await page.waitForURL(`${service.url}/device`);
  expect(await stored(page)).not.toMatch(secret);
  expect(await page.evaluate(() => document.cookie)).toBe('');
  await page.context().clearCookies();
  await page.goto(`${service.url}/login`);
  expect(await addressIn(page).inputValue()).toBe('');
});

test("explains a device's code and other slips in the place of the email's code, sends neither, and submits a code that is pasted, but not a part of one", async () => {
  const { page, email } = await waitingPage();
  const changes = changesBy(page.context());
  for (const [typed, message] of [
    ['bcdf ghjk', "That's the code of your device."],
    ['1234-567', "That isn't a valid code."],
    [' ', 'Enter the code from the email.'],
  ] as const) {
    await codeOn(page).fill(typed);
    await pressed(page, 'Sign in');
    await alerted(page, message);
    expect(await codeOn(page).inputValue()).toBe(typed);
  }
  const paste = (text: string) =>
    codeOn(page).evaluate((field: HTMLInputElement, pasted) => {
      field.value = pasted;
      field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertFromPaste' }));
    }, text);
  const code = await codeFor(email);
  await paste(code.slice(0, 4));
  expect(changes).toEqual([]);
  await paste(code);
  await atAccount(page);
  expect(changes).toEqual(['POST /magic_link/verify']);
});

test('after a reload waits for the code of the latest email, with the remaining time', async () => {
  const { page, email } = await waitingPage({ withClock: true });
  expect(await page.getByRole('timer').innerText()).toBe('15 min');
  await signInLink(service.url, email);
  await pressed(page, 'Send a new email');
  await page.getByText('We sent a new email').waitFor();
  await page.clock.fastForward('05:00');
  await page.reload();
  expect(await page.getByRole('timer').innerText()).toBe('10 min');
  await codeOn(page).fill(await codeFor(email, 1));
  await pressed(page, 'Sign in');
  await atAccount(page);
});

test('counts down until the email expires, then says so and sends a new one; stops waiting and stores no secret after that, or when it is abandoned', async () => {
  const { page, email } = await waitingPage({ withClock: true });
  expect(await stored(page)).toContain('lk_mr_');
  await page.clock.runFor(1_000);
  await page.clock.fastForward('14:00');
  await page.getByRole('timer').getByText('59 sec').waitFor();
  await page.clock.fastForward('01:00');
  await page.getByText('Its link and its code no longer work.').waitFor();
  expect(await codeOn(page).count()).toBe(0);
  await pressed(page, 'Send a new email');
  await codeOn(page).waitFor();
  await page.clock.fastForward('15:01');
  await page.reload();
  await titled(page, 'Sign in');
  expect(await addressIn(page).inputValue()).toBe('');
  expect(await stored(page)).not.toMatch(secret);

  await requestEmailAt(page, service.url, email, '/login');
  await pressed(page, 'Use a different email address');
  expect(await stored(page)).not.toMatch(secret);
  await page.reload();
  await page.getByText(`We already sent an email to ${email}`).waitFor();
});

test('another tab of the same browser knows that an email was sent, but cannot use its code; when its link signs in, or another user does, the waiting tab says who', async () => {
  const { page, email } = await waitingPage();
  const other = await page.context().newPage();
  await other.goto(`${service.url}/login`);
  await other.getByText(`We already sent an email to ${email}`).waitFor();
  expect(await addressIn(other).inputValue()).toBe(email);
  expect(await stored(other)).not.toMatch(secret);
  await useLink(page, email);
  await page.getByText(`You signed in as ${email} in another tab`).waitFor();
  expect(await stored(page)).not.toMatch(secret);

  const { page: waiting } = await waitingPage({ path: '/login?next=%2Fdevice' });
  const second = newAddress();
  await signInByCode(await waiting.context().newPage(), service.url, second);
  await titled(waiting, "You're signed in");
  await waiting.getByText(`You signed in as ${second} in another tab`).waitFor();
  await waiting.getByRole('link', { name: 'Continue' }).click();
  await titled(waiting, 'Device sign-in');
});

test('a tab that missed the sign-in through the link shows who is signed in after a reload', async () => {
  const { page, email } = await waitingPage();
  await page.goto(`${service.url}/docs`);
  await useLink(page, email);
  await page.goto(`${service.url}/login`);
  await page.getByText(`You're signed in as ${email}`).waitFor();
  expect(await stored(page)).not.toMatch(secret);
});

test('shows who is already signed in, and offers to continue or to use a different account', async () => {
  const email = newAddress();
  const page = await newPage(phone);
  await giveSession(page, service.url, email);
  const changes = changesBy(page.context());
  await page.goto(`${service.url}/login?next=%2Fdevice%3Fuser_code%3DBBBB-BBBB`);
  await titled(page, "You're signed in");
  await page.getByText(`You're signed in as ${email}`).waitFor();
  await page.getByRole('link', { name: 'Continue' }).click();
  await page.waitForURL(`${service.url}/device?user_code=BBBB-BBBB`);
  // From there, the form is one click away, not two.
  await page.getByRole('link', { name: 'Use a different account' }).click();
  await addressIn(page).waitFor();
  await page.goto(`${service.url}/login`);
  expect(await page.getByRole('link', { name: 'Continue' }).getAttribute('href')).toBe('/account');
  await pressed(page, 'Use a different account');
  await addressIn(page).waitFor();
  expect(changes.filter((one) => !one.endsWith('/device/verify'))).toEqual([]);
  // Looking signed no one out.
  await page.goto(`${service.url}/account`);
  await page.locator('#profile-email').getByText(email).waitFor();
});

test('shows the sign-in form even if the service does not answer in time, and progress only on the button that was pressed', async () => {
  const page = await newPage(phone);
  await page.route('**/auth/me', (route) => route.abort());
  await page.goto(`${service.url}/login`);
  await addressIn(page).waitFor();
  await page.unrouteAll();
  for (const path of ['me', 'passkey/login/challenge', 'magic_link'])
    await page.route(`**/auth/${path}`, () => {});
  for (const [pressing, other] of [
    ['Sign in with a passkey', 'Email me a link'],
    ['Email me a link', 'Sign in with a passkey'],
  ] as const) {
    await page.goto(`${service.url}/login`);
    await addressIn(page).fill(newAddress());
    await pressed(page, pressing);
    await button(page, 'One moment…').waitFor();
    expect(await button(page, other).isDisabled()).toBe(true);
    expect(await button(page, pressing).count()).toBe(0);
    expect(await button(page, 'One moment…').count()).toBe(1);
  }
});

test('confirms once how the user signed out', async () => {
  const page = await newPage(phone);
  const ways: [(email: string) => Promise<void>, string][] = [
    [() => pressed(page, 'Sign out'), "You're signed out."],
    [
      async () => {
        await pressed(page, 'Sign out everywhere');
        await pressed(page, 'Yes, sign out everywhere');
      },
      "You're signed out everywhere",
    ],
    [(email) => deleteAccount(page, email), 'Your account has been deleted.'],
  ];
  for (const [signOut, said] of ways) {
    const email = newAddress();
    await signIn(page, service.url, email);
    await signOut(email);
    await page.waitForURL(`${service.url}/login`);
    await page.getByRole('status').getByText(said).waitFor();
    await page.reload();
    await addressIn(page).waitFor();
    expect(await page.getByText(said).count()).toBe(0);
  }
});

test('with cookies disabled, says so before requesting an email, using a passkey or spending a link', async () => {
  const page = await newPage(phone);
  await disableCookies(page);
  const changes = changesBy(page.context());
  for (const name of ['Email me a link', 'Sign in with a passkey']) {
    await page.goto(`${service.url}/login`);
    await addressIn(page).fill(newAddress());
    await pressed(page, name);
    await alerted(page, cookiesBlocked);
  }
  const email = newAddress();
  await request(service.url, 'POST', '/magic_link', { json: { email } });
  const link = await signInLink(service.url, email);
  await page.goto(link);
  await addressIn(page).fill(email);
  await pressed(page, 'Sign in');
  await alerted(page, cookiesBlocked);
  expect([changes, page.url()]).toEqual([[], link]);
});
