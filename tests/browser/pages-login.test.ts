// The sign-in page, when people reload, go back, use two tabs or block cookies. What runs once for two clicks:
// packages/dashboard/src/magic-link/link.test.ts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, pauseClock } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { codeIn, mailTo } from '#support/http.ts';
import {
  alerted,
  button,
  changesBy,
  newAddress,
  phone,
  pressed,
  refuse,
  requestEmail as requestEmailAt,
  signInByCode,
  signInLink,
  titled,
} from '#support/people.ts';

const codeFor = async (email: string, seen = 0) => codeIn(await mailTo(service.url, email, seen));
const addressIn = (page: Page) => page.getByLabel('Email address');
const codeOn = (page: Page) => page.getByLabel('Code from the email');

/** The contents of local and session storage. */
const stored = (page: Page) => page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
const secret = /lk_[a-z]{2}_/;

/** A page that waits for the code of an email to a new address, with a clock that stands still. */
async function waitingPage(path = '/login'): Promise<{ page: Page; email: string }> {
  const page = await newPage(phone);
  await page.clock.install();
  await pauseClock(page);
  const email = newAddress();
  await requestEmailAt(page, service.url, email, path);
  return { page, email };
}

test('accepts the code of the latest email, for the remaining time, after a reload or going back, in the tab that requested it; sends neither the code of a device nor a slip; submits a code that is pasted, but not a part of one, and continues to the right page', async () => {
  const { page, email } = await waitingPage('/login?next=%2Fdevice');
  const changes = changesBy(page.context());
  expect(await page.getByRole('timer').innerText()).toBe('15 min');
  await signInLink(service.url, email);
  await pressed(page, 'Send a new email');
  await page.getByText('We sent a new email').waitFor();
  await page.clock.fastForward('05:00');
  await page.reload();
  await page.getByText(`We sent an email to ${email}`).waitFor();
  expect(await page.getByRole('timer').innerText()).toBe('10 min');
  await page.goto(`${service.url}/docs`);
  await page.goBack();
  await titled(page, 'Check your email');
  await page.goto(`${service.url}/login`);
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
  const code = (await codeFor(email, 1)).replace('-', '\u2212');
  const paste = (text: string) =>
    codeOn(page).evaluate((field: HTMLInputElement, pasted) => {
      field.value = pasted;
      field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertFromPaste' }));
    }, text);
  await paste(code.slice(0, 4));
  await refuse(page, 'magic_link', [429, 'rate_limited', { 'Retry-After': '600' }]);
  await pressed(page, 'Send a new email');
  await alerted(page, 'Earlier emails still work. Try again in 10 minutes');
  expect(await codeOn(page).getAttribute('aria-invalid')).toBe('false');
  await paste(code);
  await page.waitForURL(`${service.url}/device`);
  expect(changes).toEqual(['POST /magic_link', 'POST /magic_link', 'POST /magic_link/verify']);
  expect(await stored(page)).not.toMatch(secret);
  expect(await page.evaluate(() => document.cookie)).toBe('');
});

test('counts down until the email expires, then says so and sends a new one; stores no secret after that, or when it is abandoned', async () => {
  const { page, email } = await waitingPage();
  expect(await stored(page)).toContain('lk_mr_');
  await page.clock.runFor(1_000);
  await page.clock.fastForward('14:00');
  await page.getByRole('timer').getByText('59 sec').waitFor();
  await page.clock.fastForward('01:00');
  await titled(page, 'The email has expired');
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

test('another tab of the same browser knows that an email was sent, but cannot use its code; when its link signs in, or another user does, the waiting tab says who, and shows it after a reload if it missed that', async () => {
  const { page, email } = await waitingPage();
  const other = await page.context().newPage();
  await other.goto(`${service.url}/login`);
  await other.getByText(`We already sent an email to ${email}`).waitFor();
  expect(await addressIn(other).inputValue()).toBe(email);
  expect(await stored(other)).not.toMatch(secret);
  await requestEmailAt(other, service.url, email, '/login');
  await other.goto(`${service.url}/docs`);
  const third = await page.context().newPage();
  await third.goto(await signInLink(service.url, email, 1));
  await third.getByText('You requested this link').waitFor();
  await third.clock.runFor(500);
  await pressed(third, `Sign in as ${email}`);
  await page.getByText(`You signed in as ${email} in another tab`).waitFor();
  await other.goto(`${service.url}/login`);
  await other.getByText(`You're signed in as ${email}`).waitFor();
  for (const tab of [page, other]) expect(await stored(tab)).not.toMatch(secret);

  const { page: waiting } = await waitingPage('/login?next=%2Fdevice');
  const second = newAddress();
  await signInByCode(await waiting.context().newPage(), service.url, second);
  await titled(waiting, "You're signed in");
  await waiting.getByText(`You signed in as ${second} in another tab`).waitFor();
  await waiting.getByRole('link', { name: 'Continue' }).click();
  await titled(waiting, 'Device sign-in');
});

test('shows the sign-in form even if the service does not answer in time, and progress only on the button that was pressed', async () => {
  const page = await newPage(phone);
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
  }
});

test('with cookies disabled, says so before requesting an email, using a passkey or spending a link', async () => {
  const page = await newPage(phone);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Emulation.setDocumentCookieDisabled', { disabled: true });
  const changes = changesBy(page.context());
  for (const name of ['Email me a link', 'Sign in with a passkey']) {
    await page.goto(`${service.url}/login`);
    await addressIn(page).fill('ada@example.com');
    await pressed(page, name);
    await alerted(page, 'Your browser is blocking cookies');
    expect(await addressIn(page).inputValue()).toBe('ada@example.com');
  }
  const email = newAddress();
  await service.ask('POST', '/magic_link', { json: { email } });
  const link = await signInLink(service.url, email);
  await page.goto(link);
  await addressIn(page).fill(email);
  await pressed(page, 'Sign in');
  await alerted(page, 'Your browser is blocking cookies');
  expect([changes, page.url()]).toEqual([[], link]);
});
