// The pages behind emailed links, when people reload, go back, click twice, use two tabs, lose the connection or block
// cookies.

import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { deviceTokens, loginByMail, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import {
  button,
  changesBy,
  cookiesBlocked,
  disableCookies,
  linkTo,
  newAddress,
  phone,
  requestEmail,
  signInLink,
  titled,
} from '../support/people.ts';

interface Question {
  readonly path: string;
  readonly call: string;
  readonly heading: string;
  readonly decline: string;
  readonly confirm: string;
  readonly done: string;
  /** Shown when the link is used again. */
  readonly again: string;
  makeLink(): Promise<string>;
  /** Fills in the form before confirming. */
  fill?(page: Page): Promise<void>;
}

async function confirm(
  page: Page,
  question: Question,
  clicks: 'click' | 'dblclick' = 'click',
): Promise<void> {
  await question.fill?.(page);
  await button(page, question.confirm)[clicks]();
}

let currentEmail = '';

const questions: Question[] = [
  {
    path: '/not-me',
    call: 'POST /notices/disown',
    heading: 'Was this you?',
    decline: 'This was me',
    confirm: "This wasn't me",
    done: 'Thanks for letting us know',
    again: 'Thanks for letting us know',
    makeLink: async () => {
      const email = newAddress();
      const { access_token: token } = await loginByMail(service.url, email);
      await deviceTokens(service.url, token);
      return linkTo(service.url, email, 'A new device signed in');
    },
  },
  {
    path: '/verify-email',
    call: 'POST /me/email/verify',
    heading: 'Confirm your new email',
    decline: "Don't change",
    confirm: 'Change email',
    done: 'Email changed',
    again: 'the link has been used',
    makeLink: async () => {
      const email = newAddress();
      currentEmail = newAddress();
      const { access_token: token } = await loginByMail(service.url, currentEmail);
      await request(service.url, 'POST', '/me/email', { token, json: { email } });
      return linkTo(service.url, email, 'Confirm your new address');
    },
    fill: (page) => page.getByLabel('Current email address').fill(currentEmail),
  },
];

/** The page's text without the follow-up that needs the token and is missing after a reload. */
const textOf = (page: Page): Promise<string | null> =>
  page.locator('main').evaluate((main) => {
    const copy = main.cloneNode(true) as Element;
    copy.querySelector('#approver')?.remove();
    return copy.textContent;
  });

describe.each(questions.map((question) => [question.path, question] as const))('%s', (path, question) => {
  test('keeps the token through a reload and a lost connection, and drops it once used', async () => {
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    const link = await question.makeLink();
    await page.goto(link);
    await page.reload();
    await titled(page, question.heading);
    await page.context().setOffline(true);
    await confirm(page, question);
    await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
    expect(page.url()).toBe(link);
    await page.context().setOffline(false);
    await page.reload();
    changes.length = 0;
    await confirm(page, question, 'dblclick');
    await titled(page, question.done);
    expect(changes).toEqual([question.call]);
    expect(page.url()).toBe(`${service.url}${path}`);
    const text = await textOf(page);
    await page.reload();
    await titled(page, question.done);
    expect(await textOf(page)).toBe(text);
    await page.goto(`${service.url}/login`);
    await page.goBack();
    await titled(page, question.done);
    expect(changes.filter((one) => one === question.call)).toHaveLength(1);
  });

  test('drops the token when declined, and the emailed link still works', async () => {
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    const link = await question.makeLink();
    await page.goto(link);
    await button(page, question.decline).dblclick();
    await titled(page, 'Nothing was changed');
    expect(page.url()).toBe(`${service.url}${path}`);
    await page.reload();
    await titled(page, 'Nothing was changed');
    expect(changes).toEqual([]);
    // In the same tab, only the fragment changes.
    await page.goto(link);
    await confirm(page, question);
    await titled(page, question.done);
  });

  test('confirming in one tab gives the other tab a clear result', async () => {
    const page = await newPage(phone);
    const link = await question.makeLink();
    await page.goto(link);
    const other = await page.context().newPage();
    await other.goto(link);
    await confirm(other, question);
    await titled(other, question.done);
    await confirm(page, question);
    await page.getByText(question.again).waitFor();
  });
});

describe('/magic-link', () => {
  test('keeps the token through a reload and a lost connection, signs in once, and then says so', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    await requestEmail(page, service.url, email, '/login?next=%2Fdevice');
    await page.goto(await signInLink(service.url, email));
    await page.reload();
    const signInButton = button(page, `Sign in as ${email}`);
    await page.context().setOffline(true);
    await signInButton.click();
    await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
    expect(page.url()).toContain('#token=lk_ml_');
    await page.context().setOffline(false);
    // The next page never loads, and the user reloads.
    await page.route('**/device', (route) => route.fulfill({ status: 204 }));
    changes.length = 0;
    await signInButton.dblclick();
    await page.getByText('Signed in.').waitFor();
    expect(changes).toEqual(['POST /magic_link/verify']);
    await page.reload();
    await titled(page, "You've already used this link");
    expect(page.url()).toBe(`${service.url}/magic-link`);
    await page.unroute('**/device');
    await page.getByRole('link', { name: 'Continue' }).click();
    await titled(page, 'Device sign-in');
  });

  test('a used link says so when opened again and offers a new one, and going back shows no token', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, service.url, email, '/login');
    const link = await signInLink(service.url, email);
    await page.goto(link);
    await button(page, `Sign in as ${email}`).click();
    await page.waitForURL(`${service.url}/account`);
    await page.goBack();
    await page.waitForURL(/\/login/);
    const changes = changesBy(page.context());
    await page.goto(link);
    await titled(page, 'This link no longer works');
    expect(await page.getByRole('textbox').count()).toBe(0);
    expect(changes).toEqual([]);
    await page.getByRole('link', { name: 'Request a new link' }).click();
    await page.waitForURL(/\/login\?next=/);
  });

  test('a link that ends while the page is open says so after the click, and asks all the same if it could not be checked', async () => {
    const email = newAddress();
    await request(service.url, 'POST', '/magic_link', { json: { email } });
    const link = await signInLink(service.url, email);
    const page = await newPage(phone);
    await page.route('**/magic_link/preview', (route) => route.abort());
    await page.goto(link);
    await page.getByLabel('Email address').fill(email);
    await page.unrouteAll();
    const { access_token } = await loginByMail(service.url, email);
    expect(access_token).toBeString();
    await button(page, 'Sign in').click();
    await titled(page, 'This link no longer works');
  });

  test('in another browser, a lost connection keeps the typed address, and two clicks sign in once', async () => {
    const email = newAddress();
    await request(service.url, 'POST', '/magic_link', { json: { email } });
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    await page.goto(await signInLink(service.url, email));
    await page.getByLabel('Email address').fill(email);
    await page.context().setOffline(true);
    await page.getByLabel('Email address').press('Enter');
    await page.getByRole('alert').getByText('Check your connection and try again').waitFor();
    expect(await page.getByLabel('Email address').inputValue()).toBe(email);
    await page.context().setOffline(false);
    changes.length = 0;
    await button(page, 'Sign in').dblclick();
    await page.waitForURL(`${service.url}/account`);
    expect(changes.filter((one) => one === 'POST /magic_link/verify')).toHaveLength(1);
  });

  test('the tab waiting for the email notices that the link signed in another tab, and continues', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, service.url, email, '/login?next=%2Fdevice');
    const other = await page.context().newPage();
    await other.goto(await signInLink(service.url, email));
    await button(other, `Sign in as ${email}`).click();
    await titled(page, "You're signed in");
    await page.getByText(`You signed in as ${email} in another tab`).waitFor();
    await page.getByRole('link', { name: 'Continue' }).click();
    await titled(page, 'Device sign-in');
  });
});

test.each([
  ['/not-me', { at: 'done', value: { kind: 'other', email: null } }],
  ['/verify-email', { at: 'done', value: 5 }],
  ['/magic-link', { at: 'used', next: 5 }],
])('%s ignores an outcome that another release stored in the tab', async (path, outcome) => {
  const page = await newPage(phone);
  await page.goto(`${service.url}${path}`);
  for (const state of [outcome, { outcome, build: `${service.url}/assets/earlier.js` }, 'done']) {
    await page.evaluate((left) => history.replaceState(left, ''), state);
    await page.reload();
    await titled(page, 'This link is incomplete');
  }
});

test('with cookies disabled, the page says so before spending a link, which works once cookies are allowed', async () => {
  const email = newAddress();
  const page = await newPage(phone);
  const changes = changesBy(page.context());
  await request(service.url, 'POST', '/magic_link', { json: { email } });
  await disableCookies(page);
  await page.goto(await signInLink(service.url, email));
  await page.getByLabel('Email address').fill(email);
  await button(page, 'Sign in').click();
  await page.getByRole('alert').getByText(cookiesBlocked).waitFor();
  expect(changes).toEqual([]);
  expect(page.url()).toContain('#token=lk_ml_');
  const allowed = await page.context().newPage();
  await allowed.goto(page.url());
  await allowed.getByLabel('Email address').fill(email);
  await button(allowed, 'Sign in').click();
  await allowed.waitForURL(`${service.url}/account`);
});
