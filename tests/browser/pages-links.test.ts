// The pages behind emailed links and the sign-in page, when people reload, go back, click twice, use two tabs or lose
// the connection.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { codeIn, linkTokenIn, loginByMail, mailTo, request } from '../support/http.ts';
import { linkTo, signIn, startDevice } from '../support/page-states.ts';
import { changesBy, phone } from '../support/people.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});

afterAll(async () => {
  await service.stop();
});

const newAddress = () => `${crypto.randomUUID()}@example.com`;
const headed = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

async function requestEmail(page: Page, email: string, path = '/login'): Promise<void> {
  await page.goto(`${service.url}${path}`);
  await page.getByLabel('Email address').fill(email);
  await button(page, 'Email me a link').click();
  await headed(page, 'Check your email');
}

const signInLink = async (email: string, seen = 0) =>
  `${service.url}/magic-link#token=${linkTokenIn(await mailTo(service.url, email, seen))}`;

const codeFor = async (email: string, seen = 0) => codeIn(await mailTo(service.url, email, seen));

/** The contents of local and session storage. */
const stored = (page: Page) => page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));

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
      const { user_code, device_code } = await startDevice(service.url);
      await request(service.url, 'POST', '/device/approve', { token, json: { user_code } });
      await request(service.url, 'POST', '/token', { json: { device_code } });
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
    await headed(page, question.heading);
    await page.context().setOffline(true);
    await confirm(page, question);
    await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
    expect(page.url()).toBe(link);
    await page.context().setOffline(false);
    await page.reload();
    changes.length = 0;
    await confirm(page, question, 'dblclick');
    await headed(page, question.done);
    expect(changes).toEqual([question.call]);
    expect(page.url()).toBe(`${service.url}${path}`);
    const text = await textOf(page);
    await page.reload();
    await headed(page, question.done);
    expect(await textOf(page)).toBe(text);
    await page.goto(`${service.url}/login`);
    await page.goBack();
    await headed(page, question.done);
    expect(changes.filter((one) => one === question.call)).toHaveLength(1);
    await page.context().close();
  });

  test('drops the token when declined, and the emailed link still works', async () => {
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    const link = await question.makeLink();
    await page.goto(link);
    await button(page, question.decline).dblclick();
    await headed(page, 'Nothing was changed');
    expect(page.url()).toBe(`${service.url}${path}`);
    await page.reload();
    await headed(page, 'Nothing was changed');
    expect(changes).toEqual([]);
    // In the same tab, only the fragment changes.
    await page.goto(link);
    await confirm(page, question);
    await headed(page, question.done);
    await page.context().close();
  });

  test('confirming in one tab gives the other tab a clear result', async () => {
    const page = await newPage(phone);
    const link = await question.makeLink();
    await page.goto(link);
    const other = await page.context().newPage();
    await other.goto(link);
    await confirm(other, question);
    await headed(other, question.done);
    await confirm(page, question);
    await page.getByText(question.again).waitFor();
    await page.context().close();
  });
});

describe('/magic-link', () => {
  test('keeps the token through a reload and a lost connection, signs in once, and then says so', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    await requestEmail(page, email, '/login?next=%2Fdevice');
    await page.goto(await signInLink(email));
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
    await headed(page, "You've already used this link");
    expect(page.url()).toBe(`${service.url}/magic-link`);
    await page.unroute('**/device');
    await page.getByRole('link', { name: 'Continue' }).click();
    await headed(page, 'Device sign-in');
    await page.context().close();
  });

  test('a used link says so when opened again and offers a new one, and going back shows no token', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, email);
    const link = await signInLink(email);
    await page.goto(link);
    await button(page, `Sign in as ${email}`).click();
    await page.waitForURL(`${service.url}/account`);
    await page.goBack();
    await page.waitForURL(/\/login/);
    await page.goto(link);
    await page.getByLabel('Email address').fill(email);
    await button(page, 'Sign in').click();
    await page.getByRole('alert').getByText('it has been used').waitFor();
    await page.getByRole('link', { name: 'Request a new link' }).click();
    await page.waitForURL(/\/login\?next=/);
    await page.context().close();
  });

  test('in another browser, a lost connection keeps the typed address, and two clicks sign in once', async () => {
    const email = newAddress();
    await request(service.url, 'POST', '/magic_link', { json: { email } });
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    await page.goto(await signInLink(email));
    await page.getByLabel('Email address').fill(email);
    await page.context().setOffline(true);
    await page.getByLabel('Email address').press('Enter');
    await page.getByRole('alert').getByText('What you entered is still here').waitFor();
    expect(await page.getByLabel('Email address').inputValue()).toBe(email);
    await page.context().setOffline(false);
    changes.length = 0;
    await button(page, 'Sign in').dblclick();
    await page.waitForURL(`${service.url}/account`);
    expect(changes.filter((one) => one === 'POST /magic_link/verify')).toHaveLength(1);
    await page.context().close();
  });

  test('the tab waiting for the email notices that the link signed in another tab, and continues', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, email, '/login?next=%2Fdevice');
    const other = await page.context().newPage();
    await other.goto(await signInLink(email));
    await button(other, `Sign in as ${email}`).click();
    await headed(page, "You're signed in");
    await page.getByText(`You signed in as ${email} in another tab`).waitFor();
    await page.getByRole('link', { name: 'Continue' }).click();
    await headed(page, 'Device sign-in');
    await page.context().close();
  });
});

test.each([
  [
    '/not-me',
    [{ at: 'done', value: { kind: 'other', email: null } }, { at: 'done' }, { at: 'other' }, 'done'],
  ],
  ['/verify-email', [{ at: 'done', value: 5 }, { at: 'other' }, 'done']],
  ['/magic-link', [{ at: 'used' }, { at: 'used', next: 5 }, { at: 'other' }, 'used']],
])('%s ignores a malformed outcome that another release stored in the tab', async (path, states) => {
  const page = await newPage(phone);
  await page.goto(`${service.url}${path}`);
  for (const state of states) {
    await page.evaluate((left) => history.replaceState(left, ''), state);
    await page.reload();
    await headed(page, 'This link is incomplete');
  }
  await page.context().close();
});

async function disableCookies(page: Page): Promise<void> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Emulation.setDocumentCookieDisabled', { disabled: true });
}

describe('with cookies disabled, the page', () => {
  const explanation = 'Your browser is blocking cookies';

  test('says so before requesting an email or using a passkey', async () => {
    const page = await newPage(phone);
    await disableCookies(page);
    const changes = changesBy(page.context());
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Email address').fill(newAddress());
    await button(page, 'Email me a link').click();
    await page.getByRole('alert').getByText(explanation).waitFor();
    await page.reload();
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText(explanation).waitFor();
    expect(changes).not.toContain('POST /magic_link');
    expect(changes).not.toContain('POST /passkey/login');
    await page.context().close();
  });

  test('says so before spending a link, which works once cookies are allowed', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    await request(service.url, 'POST', '/magic_link', { json: { email } });
    await disableCookies(page);
    await page.goto(await signInLink(email));
    await page.getByLabel('Email address').fill(email);
    await button(page, 'Sign in').click();
    await page.getByRole('alert').getByText(explanation).waitFor();
    expect(changes).toEqual([]);
    expect(page.url()).toContain('#token=lk_ml_');
    const allowed = await page.context().newPage();
    await allowed.goto(page.url());
    await allowed.getByLabel('Email address').fill(email);
    await button(allowed, 'Sign in').click();
    await allowed.waitForURL(`${service.url}/account`);
    await page.context().close();
  });
});

describe('/login', () => {
  test('rejects an overlong address instead of truncating it', async () => {
    const page = await newPage(phone);
    await page.goto(`${service.url}/login`);
    const tooLong = `${'a'.repeat(60)}@${`${'b'.repeat(60)}.`.repeat(3)}example.com`;
    await page.getByLabel('Email address').fill(tooLong);
    await button(page, 'Email me a link').click();
    await page.getByRole('alert').getByText("doesn't look like an email address").waitFor();
    expect(await page.getByLabel('Email address').inputValue()).toBe(tooLong);
    await page.context().close();
  });

  test('says that earlier emails still work when no more can be sent, and marks no code as wrong', async () => {
    const page = await newPage(phone);
    await requestEmail(page, newAddress());
    const json = { error: 'rate_limited', error_description: '.', request_id: 'r' };
    const headers = { 'X-Request-Id': 'r', 'Retry-After': '600' };
    await page.route('**/auth/magic_link', (route) => route.fulfill({ status: 429, headers, json }));
    await button(page, 'Send a new email').click();
    await page.getByRole('alert').getByText('Earlier emails still work. Try again in 10 minutes').waitFor();
    expect(await page.getByLabel('Code from the email').getAttribute('aria-invalid')).toBe('false');
    await page.context().close();
  });

  test('accepts the code after a reload or going back, in the tab that requested it, and continues to the right page', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, email, '/login?next=%2Fdevice');
    await page.reload();
    await headed(page, 'Check your email');
    await page.getByText(`We sent an email to ${email}`).waitFor();
    await page.goto(`${service.url}/docs`);
    await page.goBack();
    await headed(page, 'Check your email');
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Code from the email').fill(await codeFor(email));
    await button(page, 'Sign in').click();
    await page.waitForURL(`${service.url}/device`);
    expect(await stored(page)).not.toContain('lk_');
    await page.context().clearCookies();
    await page.goto(`${service.url}/login`);
    expect(await page.getByLabel('Email address').inputValue()).toBe('');
    await page.context().close();
  });

  test('after a reload waits for the code of the latest email, with the remaining time', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await page.clock.install();
    await requestEmail(page, email);
    await page.getByText('Both expire in 15 minutes').waitFor();
    await signInLink(email);
    await button(page, 'Send a new email').click();
    await page.getByText('We sent a new email').waitFor();
    await page.clock.fastForward('05:00');
    await page.reload();
    await page.getByText('Both expire in 10 minutes').waitFor();
    await page.getByLabel('Code from the email').fill(await codeFor(email, 1));
    await button(page, 'Sign in').click();
    await page.waitForURL(`${service.url}/account`);
    await page.context().close();
  });

  test('stops waiting for a code that has expired or was abandoned, and stores neither', async () => {
    const page = await newPage(phone);
    await page.clock.install();
    await requestEmail(page, newAddress());
    expect(await stored(page)).toContain('lk_mr_');
    await page.clock.fastForward('15:01');
    await page.reload();
    await headed(page, 'Sign in');
    expect(await page.getByLabel('Email address').inputValue()).toBe('');
    expect(await stored(page)).not.toContain('lk_');
    const email = newAddress();
    await requestEmail(page, email);
    await button(page, 'Use a different email address').click();
    expect(await stored(page)).not.toContain('lk_');
    await page.reload();
    await page.getByText(`We already sent an email to ${email}`).waitFor();
    await page.context().close();
  });

  test('another tab of the same browser knows that an email was sent, but cannot use its code', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, email);
    const other = await page.context().newPage();
    await other.goto(`${service.url}/login`);
    await other.getByText(`We already sent an email to ${email}`).waitFor();
    expect(await other.getByLabel('Email address').inputValue()).toBe(email);
    expect(await stored(other)).not.toContain('lk_');
    await other.goto(await signInLink(email));
    await button(other, `Sign in as ${email}`).click();
    await other.waitForURL(`${service.url}/account`);
    await page.getByText(`You signed in as ${email} in another tab`).waitFor();
    expect(await stored(page)).not.toContain('lk_');
    await page.context().close();
  });

  test('a tab that missed the sign-in through the link shows who is signed in after a reload', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await requestEmail(page, email);
    await page.goto(`${service.url}/docs`);
    const other = await page.context().newPage();
    await other.goto(await signInLink(email));
    await button(other, `Sign in as ${email}`).click();
    await other.waitForURL(`${service.url}/account`);
    await page.goto(`${service.url}/login`);
    await page.getByText(`You're signed in as ${email}`).waitFor();
    expect(await stored(page)).not.toContain('lk_');
    await page.context().close();
  });

  test('shows who is already signed in, and offers to continue or to use a different account', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await signIn(page, service.url, email);
    const changes = changesBy(page.context());
    await page.goto(`${service.url}/login?next=%2Fdevice%3Fuser_code%3DBBBB-BBBB`);
    await headed(page, "You're signed in");
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
    expect(changes.filter((one) => !one.endsWith('/challenge') && !one.endsWith('/device/verify'))).toEqual(
      [],
    );
    // Looking signed no one out.
    await page.goto(`${service.url}/account`);
    await page.locator('#profile-email').getByText(email).waitFor();
    await page.context().close();
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
    await page.context().close();
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
    await page.context().close();
  });

  test('confirms once how the user signed out', async () => {
    const page = await newPage(phone);
    for (const [presses, said] of [
      [['Sign out here'], "You're signed out."],
      [['Sign out everywhere', 'Yes, sign out everywhere'], "You're signed out everywhere"],
      [['Delete account', 'Permanently delete account'], 'Your account has been deleted.'],
    ] as const) {
      await signIn(page, service.url, newAddress());
      for (const name of presses) await button(page, name).click();
      await page.waitForURL(`${service.url}/login`);
      await page.getByRole('status').getByText(said).waitFor();
      await page.reload();
      await page.getByLabel('Email address').waitFor();
      expect(await page.getByText(said).count()).toBe(0);
    }
    await page.context().close();
  });

  test('when two tabs wait for two users, the tab left over says who signed in', async () => {
    const [first, second] = [newAddress(), newAddress()];
    const page = await newPage(phone);
    await requestEmail(page, first);
    const other = await page.context().newPage();
    await signIn(other, service.url, second);
    await page.getByText(`You signed in as ${second} in another tab`).waitFor();
    await page.context().close();
  });
});
