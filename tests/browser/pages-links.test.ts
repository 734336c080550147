// The pages behind the links of mails, and the page that asks for one, when people reload, go back, click twice, use
// two tabs or lose the connection.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { linkTokenIn, loginByMail, mailTo, request } from '../support/http.ts';
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

async function askForMail(page: Page, email: string, path = '/login'): Promise<void> {
  await page.goto(`${service.url}${path}`);
  await page.getByLabel('Mail address').fill(email);
  await button(page, 'Send me a mail').click();
  await headed(page, 'Check your mail');
}

const signInLink = async (email: string, seen = 0) =>
  `${service.url}/magic-link#token=${linkTokenIn(await mailTo(service.url, email, seen))}`;

const codeFor = async (email: string, seen = 0) =>
  /^[A-Z]{4}-[A-Z]{4}$/m.exec((await mailTo(service.url, email, seen)).text)?.[0] ?? '';

/** What the pages have stored in a tab and its browser. */
const stored = (page: Page) => page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));

interface Question {
  readonly path: string;
  readonly call: string;
  readonly asked: string;
  readonly harmless: string;
  readonly act: string;
  readonly done: string;
  /** What a second use of the link comes to. */
  readonly again: string;
  makeLink(): Promise<string>;
  /** What is typed before the answer that does it. */
  fill?(page: Page): Promise<void>;
}

async function act(page: Page, question: Question, clicks: 'click' | 'dblclick' = 'click'): Promise<void> {
  await question.fill?.(page);
  await button(page, question.act)[clicks]();
}

let currentEmail = '';

const questions: Question[] = [
  {
    path: '/not-me',
    call: 'POST /notices/disown',
    asked: 'Was this not you?',
    harmless: 'It was me',
    act: 'This was not me',
    done: 'Taken care of',
    again: 'Taken care of',
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
    asked: 'Use this address for Latchkey?',
    harmless: 'No, leave it',
    act: 'Yes, use this address',
    done: 'Your address is changed',
    again: 'the link has been used',
    makeLink: async () => {
      const email = newAddress();
      currentEmail = newAddress();
      const { access_token: token } = await loginByMail(service.url, currentEmail);
      await request(service.url, 'POST', '/me/email', { token, json: { email } });
      return linkTo(service.url, email, 'Confirm your new address');
    },
    fill: (page) => page.getByLabel('Current mail address').fill(currentEmail),
  },
];

/** All that a page says but what it offers to do next, which needs the token and so is not there after a reload. */
const saidBy = (page: Page): Promise<string | null> =>
  page.locator('main').evaluate((main) => {
    const copy = main.cloneNode(true) as Element;
    copy.querySelector('#approver')?.remove();
    return copy.textContent;
  });

describe.each(questions.map((question) => [question.path, question] as const))('%s', (path, question) => {
  test('keeps the token for a reload and after a lost connection, and gives it up once it is used', async () => {
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    const link = await question.makeLink();
    await page.goto(link);
    await page.reload();
    await headed(page, question.asked);
    await page.context().setOffline(true);
    await act(page, question);
    await page.getByRole('alert').getByText('could not be reached').waitFor();
    expect(page.url()).toBe(link);
    await page.context().setOffline(false);
    await page.reload();
    changes.length = 0;
    await act(page, question, 'dblclick');
    await headed(page, question.done);
    expect(changes).toEqual([question.call]);
    expect(page.url()).toBe(`${service.url}${path}`);
    const said = await saidBy(page);
    await page.reload();
    await headed(page, question.done);
    expect(await saidBy(page)).toBe(said);
    await page.goto(`${service.url}/login`);
    await page.goBack();
    await headed(page, question.done);
    expect(changes.filter((one) => one === question.call)).toHaveLength(1);
    await page.context().close();
  });

  test('gives the token up when it is declined, and the link in the mail is still good', async () => {
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    const link = await question.makeLink();
    await page.goto(link);
    await button(page, question.harmless).dblclick();
    await headed(page, 'Nothing has changed');
    expect(page.url()).toBe(`${service.url}${path}`);
    await page.reload();
    await headed(page, 'Nothing has changed');
    expect(changes).toEqual([]);
    // In the same tab only the fragment changes.
    await page.goto(link);
    await act(page, question);
    await headed(page, question.done);
    await page.context().close();
  });

  test('of two tabs one does it, and the other is told, not left with an error of nobody', async () => {
    const page = await newPage(phone);
    const link = await question.makeLink();
    await page.goto(link);
    const other = await page.context().newPage();
    await other.goto(link);
    await act(other, question);
    await headed(other, question.done);
    await act(page, question);
    await page.getByText(question.again).waitFor();
    await page.context().close();
  });
});

describe('/magic-link', () => {
  test('keeps the token for a reload and after a lost connection, signs in once, and then knows that it did', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    await askForMail(page, email, '/login?next=%2Fdevice');
    await page.goto(await signInLink(email));
    await page.reload();
    const signInButton = button(page, `Sign in as ${email}`);
    await page.context().setOffline(true);
    await signInButton.click();
    await page.getByRole('alert').getByText('could not be reached').waitFor();
    expect(page.url()).toContain('#token=lk_ml_');
    await page.context().setOffline(false);
    // The next page never comes, and the person reloads.
    await page.route('**/device', (route) => route.fulfill({ status: 204 }));
    changes.length = 0;
    await signInButton.dblclick();
    await page.getByText('Signed in.').waitFor();
    expect(changes).toEqual(['POST /magic_link/verify']);
    await page.reload();
    await headed(page, 'This link has been used');
    expect(page.url()).toBe(`${service.url}/magic-link`);
    await page.unroute('**/device');
    await page.getByRole('link', { name: 'Continue' }).click();
    await headed(page, 'Sign in a terminal');
    await page.context().close();
  });

  test('a used link, opened again, says so and leads to a new one; going back shows no token', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await askForMail(page, email);
    const link = await signInLink(email);
    await page.goto(link);
    await button(page, `Sign in as ${email}`).click();
    await page.waitForURL(`${service.url}/account`);
    await page.goBack();
    await page.waitForURL(/\/login/);
    await page.goto(link);
    await page.getByLabel('Mail address').fill(email);
    await button(page, 'Sign in').click();
    await page.getByRole('alert').getByText('it has been used').waitFor();
    await page.getByRole('link', { name: 'Ask for a new link' }).click();
    await page.waitForURL(/\/login\?next=/);
    await page.context().close();
  });

  test('in another browser, too, a lost connection keeps the address that was typed, and two clicks sign in once', async () => {
    const email = newAddress();
    await request(service.url, 'POST', '/magic_link', { json: { email } });
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    await page.goto(await signInLink(email));
    await page.getByLabel('Mail address').fill(email);
    await page.context().setOffline(true);
    await page.getByLabel('Mail address').press('Enter');
    await page.getByRole('alert').getByText('what you typed is still here').waitFor();
    expect(await page.getByLabel('Mail address').inputValue()).toBe(email);
    await page.context().setOffline(false);
    changes.length = 0;
    await button(page, 'Sign in').dblclick();
    await page.waitForURL(`${service.url}/account`);
    expect(changes.filter((one) => one === 'POST /magic_link/verify')).toHaveLength(1);
    await page.context().close();
  });

  test('the tab that waits for the mail sees that the link has signed in beside it, and goes on', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await askForMail(page, email, '/login?next=%2Fdevice');
    const other = await page.context().newPage();
    await other.goto(await signInLink(email));
    await button(other, `Sign in as ${email}`).click();
    await headed(page, 'You are signed in');
    await page.getByText(`You signed in as ${email} in another tab`).waitFor();
    await page.getByRole('link', { name: 'Continue' }).click();
    await headed(page, 'Sign in a terminal');
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
])('%s takes nothing that another release left in the tab for what came of a link', async (path, states) => {
  const page = await newPage(phone);
  await page.goto(`${service.url}${path}`);
  for (const state of states) {
    await page.evaluate((left) => history.replaceState(left, ''), state);
    await page.reload();
    await headed(page, 'This link is incomplete');
  }
  await page.context().close();
});

/** The person has told the browser to keep no cookies. */
async function switchCookiesOff(page: Page): Promise<void> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Emulation.setDocumentCookieDisabled', { disabled: true });
}

describe('a browser that keeps no cookies', () => {
  const explanation = 'This browser keeps no cookies of this page, and a login needs one';

  test('says so before it asks for a mail or a passkey', async () => {
    const page = await newPage(phone);
    await switchCookiesOff(page);
    const changes = changesBy(page.context());
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Mail address').fill(newAddress());
    await button(page, 'Send me a mail').click();
    await page.getByRole('alert').getByText(explanation).waitFor();
    await page.reload();
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText(explanation).waitFor();
    expect(changes).not.toContain('POST /magic_link');
    expect(changes).not.toContain('POST /passkey/login');
    await page.context().close();
  });

  test('says so before it spends a link, which is good once they are allowed', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    const changes = changesBy(page.context());
    await request(service.url, 'POST', '/magic_link', { json: { email } });
    await switchCookiesOff(page);
    await page.goto(await signInLink(email));
    await page.getByLabel('Mail address').fill(email);
    await button(page, 'Sign in').click();
    await page.getByRole('alert').getByText(explanation).waitFor();
    expect(changes).toEqual([]);
    expect(page.url()).toContain('#token=lk_ml_');
    const allowed = await page.context().newPage();
    await allowed.goto(page.url());
    await allowed.getByLabel('Mail address').fill(email);
    await button(allowed, 'Sign in').click();
    await allowed.waitForURL(`${service.url}/account`);
    await page.context().close();
  });
});

describe('/login', () => {
  test('sends no mail to what is left of an address that is too long', async () => {
    const page = await newPage(phone);
    await page.goto(`${service.url}/login`);
    const tooLong = `${'a'.repeat(60)}@${`${'b'.repeat(60)}.`.repeat(3)}example.com`;
    await page.getByLabel('Mail address').fill(tooLong);
    await button(page, 'Send me a mail').click();
    await page.getByRole('alert').getByText('does not look like a mail address').waitFor();
    expect(await page.getByLabel('Mail address').inputValue()).toBe(tooLong);
    await page.context().close();
  });

  test('says that the mails which came still work when no more are sent, and calls no code wrong', async () => {
    const page = await newPage(phone);
    await askForMail(page, newAddress());
    const json = { error: 'rate_limited', error_description: '.', request_id: 'r' };
    const headers = { 'X-Request-Id': 'r', 'Retry-After': '600' };
    await page.route('**/auth/magic_link', (route) => route.fulfill({ status: 429, headers, json }));
    await button(page, 'Send a new mail').click();
    await page.getByRole('alert').getByText('Those that came still work. Try again in 10 minutes').waitFor();
    expect(await page.getByLabel('Code from the mail').getAttribute('aria-invalid')).toBe('false');
    await page.context().close();
  });

  test('takes the code after a reload, or after going back, in the tab that asked, and goes on where it was going', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await askForMail(page, email, '/login?next=%2Fdevice');
    await page.reload();
    await headed(page, 'Check your mail');
    await page.getByText(`We sent a mail to ${email}`).waitFor();
    await page.goto(`${service.url}/docs`);
    await page.goBack();
    await headed(page, 'Check your mail');
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Code from the mail').fill(await codeFor(email));
    await button(page, 'Sign in').click();
    await page.waitForURL(`${service.url}/device`);
    expect(await stored(page)).not.toContain('lk_');
    await page.context().clearCookies();
    await page.goto(`${service.url}/login`);
    expect(await page.getByLabel('Mail address').inputValue()).toBe('');
    await page.context().close();
  });

  test('waits for the code of the newest mail after a reload, with what is left of its time', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await page.clock.install();
    await askForMail(page, email);
    await page.getByText('Both work for 15 minutes').waitFor();
    await signInLink(email);
    await button(page, 'Send a new mail').click();
    await page.getByText('A new mail is on its way').waitFor();
    await page.clock.fastForward('05:00');
    await page.reload();
    await page.getByText('Both work for 10 minutes').waitFor();
    await page.getByLabel('Code from the mail').fill(await codeFor(email, 1));
    await button(page, 'Sign in').click();
    await page.waitForURL(`${service.url}/account`);
    await page.context().close();
  });

  test('waits for no code that has expired, nor for one that the person did not want any more, and keeps neither', async () => {
    const page = await newPage(phone);
    await page.clock.install();
    await askForMail(page, newAddress());
    expect(await stored(page)).toContain('lk_mr_');
    await page.clock.fastForward('15:01');
    await page.reload();
    await headed(page, 'Sign in');
    expect(await page.getByLabel('Mail address').inputValue()).toBe('');
    expect(await stored(page)).not.toContain('lk_');
    const email = newAddress();
    await askForMail(page, email);
    await button(page, 'Use another address').click();
    expect(await stored(page)).not.toContain('lk_');
    await page.reload();
    await page.getByText(`We sent a mail to ${email} already`).waitFor();
    await page.context().close();
  });

  test('in another tab of the browser that asked, knows that a mail is on its way, but not its code', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await askForMail(page, email);
    const other = await page.context().newPage();
    await other.goto(`${service.url}/login`);
    await other.getByText(`We sent a mail to ${email} already`).waitFor();
    expect(await other.getByLabel('Mail address').inputValue()).toBe(email);
    expect(await stored(other)).not.toContain('lk_');
    await other.goto(await signInLink(email));
    await button(other, `Sign in as ${email}`).click();
    await other.waitForURL(`${service.url}/account`);
    await page.getByText(`You signed in as ${email} in another tab`).waitFor();
    expect(await stored(page)).not.toContain('lk_');
    await page.context().close();
  });

  test('a tab that was not looking when the link signed in says after a reload who is signed in', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await askForMail(page, email);
    await page.goto(`${service.url}/docs`);
    const other = await page.context().newPage();
    await other.goto(await signInLink(email));
    await button(other, `Sign in as ${email}`).click();
    await other.waitForURL(`${service.url}/account`);
    await page.goto(`${service.url}/login`);
    await page.getByText(`This browser is signed in as ${email}`).waitFor();
    expect(await stored(page)).not.toContain('lk_');
    await page.context().close();
  });

  test('tells who is signed in already, and leads on to the page that was asked for, or to the form', async () => {
    const email = newAddress();
    const page = await newPage(phone);
    await signIn(page, service.url, email);
    const changes = changesBy(page.context());
    await page.goto(`${service.url}/login?next=%2Fdevice%3Fuser_code%3DBBBB-BBBB`);
    await headed(page, 'You are signed in');
    await page.getByText(`This browser is signed in as ${email}`).waitFor();
    await page.getByRole('link', { name: 'Continue' }).click();
    await page.waitForURL(`${service.url}/device?user_code=BBBB-BBBB`);
    // From there the form is one click away, not two.
    await page.getByRole('link', { name: 'Use another account' }).click();
    await page.getByLabel('Mail address').waitFor();
    await page.goto(`${service.url}/login`);
    expect(await page.getByRole('link', { name: 'Continue' }).getAttribute('href')).toBe('/account');
    await button(page, 'Use another account').click();
    await page.getByLabel('Mail address').waitFor();
    expect(changes.filter((one) => !one.endsWith('/challenge') && !one.endsWith('/device/verify'))).toEqual(
      [],
    );
    // Nobody was signed out by looking.
    await page.goto(`${service.url}/account`);
    await page.locator('#profile-email').getByText(email).waitFor();
    await page.context().close();
  });

  test('shows the form to whoever is not signed in, also where the service does not say so in time', async () => {
    const page = await newPage(phone);
    await page.route('**/auth/me', () => {});
    await page.goto(`${service.url}/login`);
    await page.getByLabel('Mail address').waitFor();
    await page.unrouteAll();
    await page.route('**/auth/me', (route) => route.abort());
    await page.reload();
    await page.getByLabel('Mail address').waitFor();
    await page.context().close();
  });

  test('shows progress on the button that was pressed, and on no other', async () => {
    const page = await newPage(phone);
    await page.route('**/passkey/login/challenge', () => {});
    await page.route('**/auth/magic_link', () => {});
    for (const [pressed, other] of [
      ['Sign in with a passkey', 'Send me a mail'],
      ['Send me a mail', 'Sign in with a passkey'],
    ] as const) {
      await page.goto(`${service.url}/login`);
      await page.getByLabel('Mail address').fill(newAddress());
      await button(page, pressed).click();
      await button(page, 'One moment…').waitFor();
      expect(await button(page, other).isDisabled()).toBe(true);
      expect(await button(page, pressed).count()).toBe(0);
      expect(await button(page, 'One moment…').count()).toBe(1);
    }
    await page.context().close();
  });

  test('says after signing out what has ended, once', async () => {
    const page = await newPage(phone);
    for (const [presses, said] of [
      [['Sign out here'], 'You are signed out in this browser.'],
      [['Sign out everywhere', 'Yes, sign out everywhere'], 'You are signed out everywhere.'],
      [['Delete my account', 'Yes, delete it for good'], 'Your account has been deleted.'],
    ] as const) {
      await signIn(page, service.url, newAddress());
      for (const name of presses) await button(page, name).click();
      await page.waitForURL(`${service.url}/login`);
      await page.getByRole('status').getByText(said).waitFor();
      await page.reload();
      await page.getByLabel('Mail address').waitFor();
      expect(await page.getByText(said).count()).toBe(0);
    }
    await page.context().close();
  });

  test('of two tabs that wait for the mails of two people, the one that is left says who is signed in now', async () => {
    const [first, second] = [newAddress(), newAddress()];
    const page = await newPage(phone);
    await askForMail(page, first);
    const other = await page.context().newPage();
    await signIn(other, service.url, second);
    await page.getByText(`You signed in as ${second} in another tab`).waitFor();
    await page.context().close();
  });
});
