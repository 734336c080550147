// Helpers for page tests: signing a browser in, watching its requests, and acting as its user.

import { expect } from 'bun:test';
import type { BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core';
import { apiAt, linkTokenIn, loginByMail, mailTo } from './http.ts';

/** A phone in dark mode. */
export const phone = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
  colorScheme: 'dark',
} satisfies BrowserContextOptions;

/** Signs a browser in without using its pages; returns the access token of a second session. */
export async function signedIn(page: Page, url: string, email: string): Promise<string> {
  const { access_token: token } = await loginByMail(url, email);
  const api = apiAt(url);
  await api.call('requestMagicLink', { body: { email } });
  const { headers } = await api.callWithHeaders('verifyMagicLink', {
    query: { session: 'cookie' },
    headers: { Origin: url },
    body: { token: linkTokenIn(await mailTo(url, email, 1)) },
  });
  const [cookie = ''] = (headers.get('Set-Cookie') ?? '').split(';');
  const [name = '', value = ''] = cookie.split('=');
  await page.context().addCookies([{ name, value, url, httpOnly: true, sameSite: 'Lax' }]);
  return token;
}

const pathOf = (sent: Request) => new URL(sent.url()).pathname.split('/api/v1/auth')[1];

/** Collects the changes that a browser's pages request from now on, such as `POST /magic_link`. */
export function changesBy(browser: BrowserContext): string[] {
  const made: string[] = [];
  browser.on('request', (sent) => {
    const path = pathOf(sent);
    if (path !== undefined && sent.method() !== 'GET') made.push(`${sent.method()} ${path}`);
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
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

const maxTabs = 40;

/** Presses Tab until the button, link or field has the focus, and expects a visible focus on the way. */
export async function tabTo(page: Page, name: string): Promise<void> {
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
