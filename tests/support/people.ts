// Helpers for page tests: signing a browser in, watching its requests, and acting as its user.

import { expect } from 'bun:test';
import type { BrowserContext, BrowserContextOptions, Locator, Page, Request } from 'playwright-core';
import type { Authenticator } from './authenticator.ts';
import { untilLoaded } from './browser.ts';
import {
  codeIn,
  exchangeForm,
  linkIn,
  linkTokenIn,
  mailAbout,
  mailsSoFar,
  mailTo,
  serviceAt,
} from './http.ts';

/** A phone in dark mode. */
export const phone = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
  colorScheme: 'dark',
} satisfies BrowserContextOptions;

/** Lets the sign-in page wait until it knows who is signed in. After two seconds, which a busy machine takes, it shows its form. */
const awaitUser = () => {
  if (location.pathname !== '/login') return;
  const start = window.setTimeout.bind(window) as (...timer: unknown[]) => number;
  const startUnlessLookup = (run: unknown, ms: unknown, ...rest: unknown[]) =>
    ms === 2_000 ? 0 : start(run, ms, ...rest);
  Object.assign(window, { setTimeout: startUnlessLookup });
};

/** Signs a browser in without using its pages, with its own user agent and language. */
export async function giveSession(page: Page, url: string, email: string): Promise<void> {
  await page.context().addInitScript(awaitUser);
  const [agent, language] = await page.evaluate(() => [navigator.userAgent, navigator.language] as const);
  const headers = { Origin: url, 'User-Agent': agent, 'Accept-Language': language };
  const post = async (path: string, data: object) => {
    const response = await page.request.post(`${url}/api/v1/auth${path}`, { headers, data });
    expect(response.ok()).toBe(true);
  };
  const seen = await mailsSoFar(url, email);
  await post('/magic_link', { email });
  await post('/magic_link/verify?session=cookie', { token: linkTokenIn(await mailTo(url, email, seen)) });
}

/** Signs a browser in without using its pages; returns the access token of a second session. */
export async function signedIn(page: Page, url: string, email: string): Promise<string> {
  const { access_token: token } = await serviceAt(url).login(email);
  await giveSession(page, url, email);
  return token;
}

/** Signs a browser in and opens its account page, with all of its parts. Tests of signing in itself use the pages. */
export async function signIn(page: Page, url: string, email: string): Promise<void> {
  await giveSession(page, url, email);
  await page.goto(`${url}/account`);
  await headed(page, 'Passkeys');
  await untilLoaded(page);
}

/** The button with exactly this name. */
export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Clicks the button with exactly this name. */
export const pressed = (page: Page, name: string) => button(page, name).click();

/** Presses a button by keyboard in a window that does not have the focus, which only starts the time after which a press counts. */
export async function pressedEarly(page: Page, name: string): Promise<void> {
  await page.evaluate(() => window.dispatchEvent(new Event('blur')));
  await button(page, name).press('Enter');
  await button(page, name).and(page.locator('[aria-disabled=false]')).waitFor();
}

/** Waits for an error. */
export const alerted = (page: Page, text: string) => page.getByRole('alert').getByText(text).waitFor();

/** Clicks the first button with this name, and then the one of the question that it opens. */
export async function confirmed(within: Page | Locator, name: string): Promise<void> {
  await within.getByRole('button', { name }).first().click();
  await within.locator('.question').getByRole('button', { name }).click();
}

/** Confirms who one is with the code of an email, in the dialog that asks for that. @param seen how many emails came before */
export async function confirmByCode(page: Page, url: string, email: string, seen = 1): Promise<void> {
  const dialog = page.getByRole('dialog', { name: "Confirm it's you" });
  await dialog.getByRole('button', { name: 'Email me a code' }).click();
  await dialog.getByLabel('Code from the email').fill(codeIn(await mailTo(url, email, seen)));
  await dialog.getByLabel('Code from the email').press('Enter');
}

export async function deleteAccount(page: Page, email: string): Promise<void> {
  await pressed(page, 'Delete account');
  await page.getByLabel('Enter your email address to confirm').fill(email);
  await pressed(page, 'Permanently delete account');
}

/** Headings other than that of a page which still loads: it may be about to lead to another one. */
const headings = (page: Page, options: { name: string; level?: number }) =>
  page.getByRole('heading', options).and(page.locator(':not(:has(+ .placeholder))'));

export const headed = (page: Page, name: string) => headings(page, { name }).waitFor();

/** Waits for the page with this title, whatever headings its parts have. */
export const titled = (page: Page, name: string) => headings(page, { name, level: 1 }).waitFor();

export const newAddress = () => `${crypto.randomUUID()}@example.com`;

/** The newest link with a token in the mails to an address about a subject. */
export const linkTo = async (url: string, to: string, subject: string): Promise<string> =>
  linkIn(await mailAbout(url, to, subject));

/** Requests a sign-in email on the sign-in page. */
export async function requestEmail(
  page: Page,
  url: string,
  email: string,
  path = '/login?prompt=login',
): Promise<void> {
  await page.goto(`${url}${path}`);
  await page.getByLabel('Email address').fill(email);
  await pressed(page, 'Email me a link');
  await headed(page, 'Check your email');
}

/** Signs in on the sign-in page that is shown, with the code from the email. @param seen how many emails came before */
export async function signInHere(page: Page, url: string, email: string, seen = 0): Promise<void> {
  await page.getByLabel('Email address').fill(email);
  await pressed(page, 'Email me a link');
  await page.getByLabel('Code from the email').fill(codeIn(await mailTo(url, email, seen)));
  await pressed(page, 'Sign in');
}

/** Signs a browser in by typing the code from the email. Other tabs of the browser notice. */
export async function signInByCode(page: Page, url: string, email: string): Promise<void> {
  const seen = await mailsSoFar(url, email);
  await page.goto(`${url}/login?prompt=login`);
  await signInHere(page, url, email, seen);
  await page.waitForURL(`${url}/account`);
  await headed(page, 'Passkeys');
}

/** Lets the service seem to refuse a request. @param options how often, if not always */
export const refuse = (
  page: Page,
  path: string,
  [status, error, headers = {}]: readonly [status: number, error: string, headers?: Record<string, string>],
  options: { times?: number } = {},
): Promise<unknown> =>
  page.route(
    `**/auth/${path}`,
    (route) =>
      route.fulfill({
        status,
        headers: { 'X-Request-Id': 'r', ...headers },
        json: { error, error_description: '.', request_id: 'r' },
      }),
    options,
  );

/** Lets the service seem to have other members in its response, or one instead of none. */
export const alter = (page: Page, path: string, members: object): Promise<unknown> =>
  page.route(`**/auth/${path}`, async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    const json = { ...(text === '' ? {} : JSON.parse(text)), ...members };
    await route.fulfill({ response, status: 200, json });
  });

/** Starts a run within a session, as a program does for itself; returns its access token. */
export async function startRun(url: string, token: string, scope: string, more = {}): Promise<string> {
  const form = { ...exchangeForm(token, scope), ...more };
  const { status, body } = await serviceAt(url).ask('POST', '/token', { form });
  expect(status).toBe(200);
  return body.access_token;
}

const pathOf = (sent: Request) => new URL(sent.url()).pathname.split('/api/v1/auth')[1];

/** Collects the requests of a page from now on, such as `GET /me`. */
export function requestsOf(page: Page): string[] {
  const made: string[] = [];
  page.on('request', (sent) => {
    const path = pathOf(sent);
    if (path !== undefined) made.push(`${sent.method()} ${path}`);
  });
  return made;
}

/**
 * Collects the changes that a browser's pages request from now on, such as `POST /magic_link`. Previews and challenges change
 * nothing, and the sign-in page requests its challenge at a time of its own.
 */
export function changesBy(browser: BrowserContext): string[] {
  const made: string[] = [];
  browser.on('request', (sent) => {
    const path = pathOf(sent);
    if (path !== undefined && !/\/(preview|challenge)$/.test(path) && sent.method() !== 'GET')
      made.push(`${sent.method()} ${path}`);
  });
  browser.on('requestfailed', (sent) => {
    if (sent.failure()?.errorText !== 'net::ERR_INTERNET_DISCONNECTED') return;
    const index = made.lastIndexOf(`${sent.method()} ${pathOf(sent)}`);
    if (index >= 0) made.splice(index, 1);
  });
  return made;
}

/**
 * Gives the browser a virtual authenticator that always verifies its user. Autofill is disabled, because it would
 * sign in on its own. Call it before the page is loaded.
 */
export async function giveAuthenticator(page: Page): Promise<void> {
  await page.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = async () => false;
  });
  await addAuthenticator(page);
}

/** Adds a virtual authenticator: one of the device, or a security key that cannot verify its user. */
export async function addAuthenticator(page: Page, { canVerify = true } = {}) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: canVerify ? 'internal' : 'usb',
      hasResidentKey: true,
      hasUserVerification: canVerify,
      isUserVerified: canVerify,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** The passkeys that it holds. */
    credentials: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    /** Whether the user passes verification. */
    verifies: (isUserVerified: boolean) =>
      cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
    /** Whether the user responds at all. */
    answers: (enabled: boolean) =>
      cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    /** Lets it hold the passkey of an authenticator in software. */
    async take({ credentials: [held] }: Authenticator): Promise<void> {
      const { id, userHandle, rpId, privateKey } = held!;
      const standard = (text: string) => Buffer.from(text, 'base64url').toString('base64');
      const credential = {
        credentialId: standard(id),
        isResidentCredential: true,
        rpId,
        privateKey: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
        userHandle: standard(userHandle),
        signCount: 1,
      };
      await cdp.send('WebAuthn.addCredential', { authenticatorId, credential });
    },
  };
}

const maxTabs = 40;

/**
 * Waits for the button, link or field, presses Tab until it has the focus, and expects a visible focus on the way.
 * Pages show some of them only after they have loaded.
 */
export async function tabTo(page: Page, name: string): Promise<void> {
  await page.waitForFunction((expected) => {
    const focusable = document.querySelectorAll<HTMLElement>(
      'a[href], button, input, select, textarea, summary',
    );
    const labelOf = (element: HTMLElement) =>
      element instanceof HTMLInputElement ? (element.labels?.[0] ?? element) : element;
    return [...focusable].some((element) => labelOf(element).innerText === expected);
  }, name);
  for (let presses = 0; presses < maxTabs; presses++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const element = document.activeElement as HTMLElement;
      if (element === document.body) return { text: '', outline: '' };
      const label = element instanceof HTMLInputElement ? element.labels?.[0] : element;
      return { text: label?.innerText ?? '', outline: getComputedStyle(element).outlineStyle };
    });
    if (focused.text !== '') expect([focused.text, focused.outline]).toEqual([focused.text, 'solid']);
    if (focused.text === name) return;
  }
  throw new Error(`not reached by Tab: ${name}`);
}

/** The sign-in link in the next mail to an address that has got `seen` of them. */
export const signInLink = async (url: string, email: string, seen = 0): Promise<string> =>
  `${url}/magic-link#token=${linkTokenIn(await mailTo(url, email, seen))}`;
