// The sign-in page, when people reload, go back, click twice, use two tabs, lose the connection or block cookies.

import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, pauseClock } from '../support/browser.ts';
import { codeIn, mailTo } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import {
  button,
  changesBy,
  cookiesBlocked,
  deleteAccount,
  disableCookies,
  giveSession,
  newAddress,
  phone,
  requestEmail,
  signIn,
  signInByCode,
  signInLink,
  titled,
} from '../support/people.ts';

const codeFor = async (email: string, seen = 0) => codeIn(await mailTo(service.url, email, seen));

/** The contents of local and session storage. */
const stored = (page: Page) => page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));

describe('/login', () => {
  test('rejects an overlong address instead of truncating it', async () => {
    const page = await newPage(phone);
    await page.goto(`${service.url}/login`);
    const tooLong = `${'a'.repeat(60)}@${`${'b'.repeat(60)}.`.repeat(3)}example.com`;
    await page.getByLabel('Email address').fill(tooLong);
    await button(page, 'Email me a link').click();
    await page.getByRole('alert').getByText("doesn't look like an email address").waitFor();
    expect(await page.getByLabel('Email address').inputValue()).toBe(tooLong);
  });

  test('says that earlier emails still work when no more can be sent, and marks no code as wrong', async () => {
    const page = await newPage(phone);
    await requestEmail(page, service.url, newAddress(), '/login');
    const json = { error: 'rate_limited', error_description: '.', request_id: 'r' };
    const headers = { 'X-Request-Id': 'r', 'Retry-After': '600' };
    await page.route('**/auth/magic_link', (route) => route.fulfill({ status: 429, headers, json }));
    await button(page, 'Send a new email').click();
    await page.getByRole('alert').getByText('Earlier emails still work. Try again in 10 minutes').waitFor();
    expect(await page.getByLabel('Code from the email').getAttribute('aria-invalid')).toBe('false');
  });

  test('accepts the code after a reload or going back, in the tab that requested it, and continues to the right page', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, service.url, email, '/login?next=%2Fdevice');
    await page.reload();
    await titled(page, 'Check your email');
    await page.getByText(`We sent an email to ${email}`).waitFor();
    await page.goto(`${service.url}/docs`);
    await page.goBack();
    await titled(page, 'Check your email');
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Code from the email').fill((await codeFor(email)).replace('-', '\u2212'));
    await button(page, 'Sign in').click();
    await page.waitForURL(`${service.url}/device`);
    expect(await stored(page)).not.toMatch(/lk_[a-z]{2}_/);
    expect(await page.evaluate(() => document.cookie)).toBe('');
    await page.context().clearCookies();
    await page.goto(`${service.url}/login`);
    expect(await page.getByLabel('Email address').inputValue()).toBe('');
  });

  test("explains a device's code and other slips in the place of the email's code, and sends neither", async () => {
    const page = await newPage(phone);
    const email = newAddress();
    await requestEmail(page, service.url, email, '/login');
    const changes = changesBy(page.context());
    for (const [typed, message] of [
      ['bcdf ghjk', "That's the code of your device."],
      ['1234-567', "That isn't a valid code."],
      [' ', 'Enter the code from the email.'],
    ] as const) {
      await page.getByLabel('Code from the email').fill(typed);
      await button(page, 'Sign in').click();
      await page.getByRole('alert').getByText(message).waitFor();
      expect(await page.getByLabel('Code from the email').inputValue()).toBe(typed);
    }
    expect(changes).toEqual([]);
    await page.getByLabel('Code from the email').fill(await codeFor(email));
    await button(page, 'Sign in').click();
    await page.waitForURL(`${service.url}/account`);
  });

  test('submits a code that is pasted, but not a part of one', async () => {
    const page = await newPage(phone);
    const email = newAddress();
    await requestEmail(page, service.url, email, '/login');
    const changes = changesBy(page.context());
    const paste = (text: string) =>
      page.getByLabel('Code from the email').evaluate((field: HTMLInputElement, pasted) => {
        field.value = pasted;
        field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertFromPaste' }));
      }, text);
    const code = await codeFor(email);
    await paste(code.slice(0, 4));
    await paste(code);
    await page.waitForURL(`${service.url}/account`);
    expect(changes).toEqual(['POST /magic_link/verify']);
  });

  test('after a reload waits for the code of the latest email, with the remaining time', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await page.clock.install();
    await pauseClock(page);
    await requestEmail(page, service.url, email, '/login');
    expect(await page.getByRole('timer').innerText()).toBe('15 min');
    await signInLink(service.url, email);
    await button(page, 'Send a new email').click();
    await page.getByText('We sent a new email').waitFor();
    await page.clock.fastForward('05:00');
    await page.reload();
    expect(await page.getByRole('timer').innerText()).toBe('10 min');
    await page.getByLabel('Code from the email').fill(await codeFor(email, 1));
    await button(page, 'Sign in').click();
    await page.waitForURL(`${service.url}/account`);
  });

  test('counts down until the email expires, then says so and sends a new one', async () => {
    const page = await newPage(phone);
    await page.clock.install();
    await pauseClock(page);
    await requestEmail(page, service.url, newAddress(), '/login');
    await page.clock.runFor(1_000);
    await page.clock.fastForward('14:00');
    await page.getByRole('timer').getByText('59 sec').waitFor();
    await page.clock.fastForward('01:00');
    await page.getByText('Its link and its code no longer work.').waitFor();
    expect(await page.getByLabel('Code from the email').count()).toBe(0);
    await button(page, 'Send a new email').click();
    await page.getByLabel('Code from the email').waitFor();
  });

  test('offers the inbox of a provider that the address tells, and of no other', async () => {
    const page = await newPage(phone);
    await requestEmail(page, service.url, `ada.${crypto.randomUUID()}@gmail.com`, '/login');
    const inbox = page.getByRole('link', { name: 'Open Gmail' });
    expect(await inbox.getAttribute('href')).toBe('https://mail.google.com/');
    expect(await inbox.getAttribute('rel')).toBe('noreferrer');
    await button(page, 'Use a different email address').click();
    await page.getByLabel('Email address').fill(newAddress());
    await button(page, 'Email me a link').click();
    await titled(page, 'Check your email');
    expect(await page.getByRole('link', { name: 'Open' }).count()).toBe(0);
  });

  test('stops waiting for a code that has expired or was abandoned, and stores neither', async () => {
    const page = await newPage(phone);
    await page.clock.install();
    await requestEmail(page, service.url, newAddress(), '/login');
    expect(await stored(page)).toContain('lk_mr_');
    await page.clock.fastForward('15:01');
    await page.reload();
    await titled(page, 'Sign in');
    expect(await page.getByLabel('Email address').inputValue()).toBe('');
    expect(await stored(page)).not.toMatch(/lk_[a-z]{2}_/);
    const email = newAddress();
    await requestEmail(page, service.url, email, '/login');
    await button(page, 'Use a different email address').click();
    expect(await stored(page)).not.toMatch(/lk_[a-z]{2}_/);
    await page.reload();
    await page.getByText(`We already sent an email to ${email}`).waitFor();
  });

  test('another tab of the same browser knows that an email was sent, but cannot use its code', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, service.url, email, '/login');
    const other = await page.context().newPage();
    await other.goto(`${service.url}/login`);
    await other.getByText(`We already sent an email to ${email}`).waitFor();
    expect(await other.getByLabel('Email address').inputValue()).toBe(email);
    expect(await stored(other)).not.toMatch(/lk_[a-z]{2}_/);
    await other.goto(await signInLink(service.url, email));
    await button(other, `Sign in as ${email}`).click();
    await other.waitForURL(`${service.url}/account`);
    await page.getByText(`You signed in as ${email} in another tab`).waitFor();
    expect(await stored(page)).not.toMatch(/lk_[a-z]{2}_/);
  });

  test('a tab that missed the sign-in through the link shows who is signed in after a reload', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, service.url, email, '/login');
    await page.goto(`${service.url}/docs`);
    const other = await page.context().newPage();
    await other.goto(await signInLink(service.url, email));
    await button(other, `Sign in as ${email}`).click();
    await other.waitForURL(`${service.url}/account`);
    await page.goto(`${service.url}/login`);
    await page.getByText(`You're signed in as ${email}`).waitFor();
    expect(await stored(page)).not.toMatch(/lk_[a-z]{2}_/);
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
    await page.getByLabel('Email address').waitFor();
    await page.goto(`${service.url}/login`);
    expect(await page.getByRole('link', { name: 'Continue' }).getAttribute('href')).toBe('/account');
    await button(page, 'Use a different account').click();
    await page.getByLabel('Email address').waitFor();
    expect(changes.filter((one) => !one.endsWith('/device/verify'))).toEqual([]);
    // Looking signed no one out.
    await page.goto(`${service.url}/account`);
    await page.locator('#profile-email').getByText(email).waitFor();
  });

  test('shows the sign-in form even if the service does not answer in time', async () => {
    const page = await newPage(phone);
    await page.route('**/auth/me', () => {});
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Email address').waitFor();
    await page.unrouteAll();
    await page.route('**/auth/me', (route) => route.abort());
    await page.reload();
    await page.getByLabel('Email address').waitFor();
  });

  test('shows progress only on the button that was pressed', async () => {
    const page = await newPage(phone);
    await page.route('**/passkey/login/challenge', () => {});
    await page.route('**/auth/magic_link', () => {});
    for (const [pressed, other] of [
      ['Sign in with a passkey', 'Email me a link'],
      ['Email me a link', 'Sign in with a passkey'],
    ] as const) {
      await page.goto(`${service.url}/login`);
      await page.getByLabel('Email address').fill(newAddress());
      await button(page, pressed).click();
      await button(page, 'One moment…').waitFor();
      expect(await button(page, other).isDisabled()).toBe(true);
      expect(await button(page, pressed).count()).toBe(0);
      expect(await button(page, 'One moment…').count()).toBe(1);
    }
  });

  test('confirms once how the user signed out', async () => {
    const page = await newPage(phone);
    for (const [presses, said] of [
      [['Sign out'], "You're signed out."],
      [['Sign out everywhere', 'Yes, sign out everywhere'], "You're signed out everywhere"],
      [[], 'Your account has been deleted.'],
    ] as const) {
      const email = newAddress();
      await signIn(page, service.url, email);
      for (const name of presses) await button(page, name).click();
      if (presses.length === 0) await deleteAccount(page, email);
      await page.waitForURL(`${service.url}/login`);
      await page.getByRole('status').getByText(said).waitFor();
      await page.reload();
      await page.getByLabel('Email address').waitFor();
      expect(await page.getByText(said).count()).toBe(0);
    }
  });

  test('when two tabs wait for two users, the tab left over says who signed in', async () => {
    const [first, second] = [newAddress(), newAddress()];
    const page = await newPage(phone);
    await requestEmail(page, service.url, first, '/login');
    const other = await page.context().newPage();
    await signInByCode(other, service.url, second);
    await page.getByText(`You signed in as ${second} in another tab`).waitFor();
  });

  test('with cookies disabled, says so before requesting an email or using a passkey', async () => {
    const page = await newPage(phone);
    await disableCookies(page);
    const changes = changesBy(page.context());
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Email address').fill(newAddress());
    await button(page, 'Email me a link').click();
    await page.getByRole('alert').getByText(cookiesBlocked).waitFor();
    await page.reload();
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText(cookiesBlocked).waitFor();
    expect(changes).not.toContain('POST /magic_link');
    expect(changes).not.toContain('POST /passkey/login');
  });

  test('two clicks request one email, and two clicks sign in once', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Email address').fill(email);
    await button(page, 'Email me a link').dblclick();
    await titled(page, 'Check your email');
    await page.getByLabel('Code from the email').fill(await codeFor(email));
    await button(page, 'Sign in').dblclick();
    await page.waitForURL(`${service.url}/account`);
    expect(changes.filter((one) => one.startsWith('POST /magic_link'))).toEqual([
      'POST /magic_link',
      'POST /magic_link/verify',
    ]);
  });

  test('keeps what was typed after a lost connection, and can be submitted again', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Email address').fill(email);
    await page.context().setOffline(true);
    await button(page, 'Email me a link').click();
    await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
    expect(await page.getByLabel('Email address').inputValue()).toBe(email);
    await page.context().setOffline(false);
    await button(page, 'Email me a link').click();
    const code = await codeFor(email);
    await page.getByLabel('Code from the email').fill(code);
    await page.context().setOffline(true);
    await button(page, 'Sign in').click();
    await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
    expect(await page.getByLabel('Code from the email').inputValue()).toBe(code);
    await page.context().setOffline(false);
    await button(page, 'Sign in').click();
    await page.waitForURL(`${service.url}/account`);
  });
});
