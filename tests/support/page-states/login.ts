// The sign-in page and the page behind a magic link.

import type { Page } from 'playwright-core';
import { mailsSoFar, serviceAt } from '../http.ts';
import { giveSession, headed, pressed, requestEmail, signIn, signInLink } from '../people.ts';
import { opens, type PageStates } from './page-state.ts';

export const loginStates = (url: string): PageStates => {
  /** A link that nobody has used. @param page of the browser that requests it, if not another one */
  const linkOf = async (page: Page | undefined, email: string): Promise<string> => {
    const seen = await mailsSoFar(url, email);
    if (page) await requestEmail(page, url, email);
    else await serviceAt(url).ask('POST', '/magic_link', { json: { email } });
    return signInLink(url, email, seen);
  };
  return {
    login: opens(`${url}/login`, 'Sign in'),
    'login-for-device': async (page) => {
      await page.goto(`${url}/device?user_code=bcdfghjk`);
      await page.getByText('A device is waiting with this code').waitFor();
    },
    'login-wrong-address': async (page) => {
      await page.goto(`${url}/login`);
      await page.getByLabel('Email address').fill('nonsense');
      await pressed(page, 'Email me a link');
      await page.getByText("That doesn't look like an email address").waitFor();
    },
    'login-mail-sent': (page) => requestEmail(page, url, 'sent@example.com'),
    'login-mail-sent-webmail': async (page) => {
      await requestEmail(page, url, 'ada.lovelace@gmail.com');
      await pressed(page, 'Send a new email');
      await page.getByText('We sent a new email').waitFor();
      await page.getByRole('link', { name: 'Open Gmail' }).waitFor();
    },
    'login-mail-expired': async (page) => {
      await page.clock.install();
      await requestEmail(page, url, 'sent@example.com');
      await page.clock.fastForward('15:01');
      await headed(page, 'The email has expired');
    },
    'login-asked-in-another-tab': async (page) => {
      const tab = await page.context().newPage();
      await requestEmail(tab, url, 'sent@example.com');
      await page.goto(`${url}/login`);
      await page.getByText('We already sent an email to sent@example.com').waitFor();
      await tab.close();
    },
    'login-passkey-running': async (page) => {
      await page.route('**/passkey/login/challenge', () => {});
      await page.goto(`${url}/login`);
      await pressed(page, 'Sign in with a passkey');
      await page.getByRole('button', { name: 'One moment…' }).waitFor();
    },
    'login-signed-in': async (page) => {
      await giveSession(page, url, 'new@example.com');
      await page.goto(`${url}/login`);
      await headed(page, "You're signed in");
    },
    'login-signed-out-everywhere': async (page) => {
      await signIn(page, url, 'leaving@example.com');
      await pressed(page, 'Sign out everywhere');
      await pressed(page, 'Yes, sign out everywhere');
      await page.getByText("You're signed out everywhere").waitFor();
    },
    'login-wrong-code': async (page) => {
      await requestEmail(page, url, 'wrong-code@example.com');
      await page.getByLabel('Code from the email').fill('0000-0000');
      await pressed(page, 'Sign in');
      await page.getByText("That code didn't work").waitFor();
    },
    'magic-link-here': async (page) => {
      await page.goto(await linkOf(page, 'here@example.com'));
      await page.getByRole('button', { name: 'Sign in as here@example.com' }).waitFor();
    },
    'magic-link-elsewhere': async (page) => {
      await page.goto(await linkOf(undefined, 'elsewhere@example.com'));
      await headed(page, 'Where do you want to sign in?');
    },
    'magic-link-wrong-address': async (page) => {
      await page.goto(await linkOf(undefined, 'mistyped@example.com'));
      await page.getByLabel('Email address').fill('mistypde@example.com');
      await pressed(page, 'Sign in');
      await page.getByText('This link was not sent to').waitFor();
    },
    'magic-link-dead': opens(`${url}/magic-link#token=lk_ml_expired`, 'This link no longer works'),
    'magic-link-checking': async (page) => {
      await page.route('**/magic_link/preview', () => {});
      await page.goto(`${url}/magic-link#token=lk_ml_slow`);
      await page.getByRole('status').getByText('Loading…').waitFor();
    },
    'magic-link-used': async (page) => {
      await page.goto(await linkOf(page, 'used@example.com'));
      await page.route('**/account', (route) => route.fulfill({ status: 204 }));
      await pressed(page, 'Sign in as used@example.com');
      await page.getByText('Signed in.').waitFor();
      await page.reload();
      await headed(page, "You've already used this link");
    },
    'magic-link-incomplete': opens(`${url}/magic-link`, 'This link is incomplete'),
  };
};
