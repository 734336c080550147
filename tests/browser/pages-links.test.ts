// The pages behind emailed links, when people reload, go back, click twice, use two tabs or lose the connection. What the
// page of a sign-in link asks and says: packages/dashboard/src/magic-link/link.test.ts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '#support/browser.ts';
import { deviceTokens, loginByMail, request } from '#support/http.ts';
import { service } from '#support/page-service.ts';
import {
  alerted,
  button,
  changesBy,
  linkTo,
  newAddress,
  phone,
  pressed,
  requestEmail,
  signInLink,
  titled,
} from '#support/people.ts';

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

test.each(questions.map((question) => [question.path, question] as const))(
  '%s drops the token when declined, keeps it in the emailed link through a reload and a lost connection, uses it once, and tells another tab',
  async (path, question) => {
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
    await titled(page, question.heading);
    await page.reload();
    await titled(page, question.heading);
    await page.context().setOffline(true);
    await confirm(page, question);
    await alerted(page, "Couldn't reach Latchkey");
    expect(page.url()).toBe(link);
    await page.context().setOffline(false);
    await page.reload();
    const other = await page.context().newPage();
    await other.goto(link);
    await titled(other, question.heading);
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
    await confirm(other, question);
    await other.getByText(question.again).waitFor();
  },
);

test('a sign-in link keeps its token through a reload, signs in once, says so afterwards, and offers a new link when it is opened again; going back shows no token', async () => {
  const email = newAddress();
  const page = await newPage(phone);
  const changes = changesBy(page.context());
  await requestEmail(page, service.url, email, '/login?next=%2Fdevice');
  const link = await signInLink(service.url, email);
  await page.goto(link);
  await page.reload();
  // The next page never loads, and the user reloads.
  await page.route('**/device', (route) => route.fulfill({ status: 204 }));
  changes.length = 0;
  await button(page, `Sign in as ${email}`).dblclick();
  await page.getByText('Signed in.').waitFor();
  await page.reload();
  await titled(page, "You've already used this link");
  expect(page.url()).toBe(`${service.url}/magic-link`);
  await page.unroute('**/device');
  await page.getByRole('link', { name: 'Continue' }).click();
  await titled(page, 'Device sign-in');
  await page.goto(link);
  await titled(page, 'This link no longer works');
  expect(changes).toEqual(['POST /magic_link/verify']);
  await page.getByRole('link', { name: 'Request a new link' }).click();
  await page.waitForURL(/\/login\?next=/);

  await requestEmail(page, service.url, email);
  await page.goto(await signInLink(service.url, email, 1));
  await pressed(page, `Sign in as ${email}`);
  await page.waitForURL(`${service.url}/account`);
  await page.goBack();
  await page.waitForURL(/\/login/);
});

test.each([
  ['/not-me', { at: 'done', value: { kind: 'other', email: null } }],
  ['/verify-email', { at: 'done', value: 5 }],
  ['/magic-link', { at: 'used', next: 5 }],
])(
  '%s ignores a link without a complete token, and an outcome that another release stored',
  async (path, outcome) => {
    const page = await newPage(phone);
    for (const fragment of ['#token=', '#token=lk_dc_some', '']) {
      await page.goto('about:blank');
      await page.goto(`${service.url}${path}${fragment}`);
      await titled(page, 'This link is incomplete');
    }
    for (const state of [outcome, { outcome, build: `${service.url}/assets/earlier.js` }, 'done']) {
      await page.evaluate((left) => history.replaceState(left, ''), state);
      await page.reload();
      await titled(page, 'This link is incomplete');
    }
  },
);
