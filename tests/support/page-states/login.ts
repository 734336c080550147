// The sign-in page and the page behind a magic link.

import { linkTokenIn, mailsSoFar, mailTo, request } from '../http.ts';
import { giveSession, headed, pressed, requestEmail, signIn } from '../people.ts';
import type { PageState } from './page-state.ts';

/** A link that nobody has used, requested by another browser. */
async function newLinkTo(url: string, email: string): Promise<string> {
  const seen = await mailsSoFar(url, email);
  await request(url, 'POST', '/magic_link', { json: { email } });
  return `${url}/magic-link#token=${linkTokenIn(await mailTo(url, email, seen))}`;
}

export const loginStates = (url: string): PageState[] => [
  {
    name: 'login',
    open: async (page) => {
      await page.goto(`${url}/login`);
      await headed(page, 'Sign in');
    },
  },
  {
    name: 'login-for-device',
    open: async (page) => {
      await page.goto(`${url}/device?user_code=bcdfghjk`);
      await page.getByText('A device is waiting with this code').waitFor();
    },
  },
  {
    name: 'login-wrong-address',
    open: async (page) => {
      await page.goto(`${url}/login`);
      await page.getByLabel('Email address').fill('nonsense');
      await pressed(page, 'Email me a link');
      await page.getByText("That doesn't look like an email address").waitFor();
    },
  },
  {
    name: 'login-mail-sent',
    open: (page) => requestEmail(page, url, 'sent@example.com'),
  },
  {
    name: 'login-mail-sent-webmail',
    open: async (page) => {
      await requestEmail(page, url, 'ada.lovelace@gmail.com');
      await pressed(page, 'Send a new email');
      await page.getByText('We sent a new email').waitFor();
    },
  },
  {
    name: 'login-mail-expired',
    open: async (page) => {
      await page.clock.install();
      await requestEmail(page, url, 'sent@example.com');
      await page.clock.fastForward('15:01');
      await page.getByText('has expired').waitFor();
    },
  },
  {
    name: 'login-no-passkeys',
    open: async (page) => {
      await page.addInitScript(() => Reflect.deleteProperty(window, 'PublicKeyCredential'));
      await page.goto(`${url}/login`);
      await headed(page, 'Sign in');
    },
  },
  {
    name: 'login-reloaded',
    open: async (page) => {
      await requestEmail(page, url, 'sent@example.com');
      await page.reload();
      await headed(page, 'Check your email');
    },
  },
  {
    name: 'login-asked-in-another-tab',
    open: async (page) => {
      const tab = await page.context().newPage();
      await requestEmail(tab, url, 'sent@example.com');
      await page.goto(`${url}/login`);
      await page.getByText('We already sent an email to sent@example.com').waitFor();
      await tab.close();
    },
  },
  {
    name: 'login-passkey-running',
    open: async (page) => {
      await page.route('**/passkey/login/challenge', () => {});
      await page.goto(`${url}/login`);
      await pressed(page, 'Sign in with a passkey');
      await page.getByRole('button', { name: 'One moment…' }).waitFor();
    },
  },
  {
    name: 'login-signed-in',
    open: async (page) => {
      await giveSession(page, url, 'new@example.com');
      await page.goto(`${url}/login`);
      await headed(page, "You're signed in");
    },
  },
  {
    name: 'login-signed-out-everywhere',
    open: async (page) => {
      await signIn(page, url, 'leaving@example.com');
      await pressed(page, 'Sign out everywhere');
      await pressed(page, 'Yes, sign out everywhere');
      await page.getByText("You're signed out everywhere").waitFor();
    },
  },
  {
    name: 'login-wrong-code',
    open: async (page) => {
      await requestEmail(page, url, 'wrong-code@example.com');
      await page.getByLabel('Code from the email').fill('0000-0000');
      await pressed(page, 'Sign in');
      await page.getByText("That code didn't work").waitFor();
    },
  },
  {
    name: 'login-device-code',
    open: async (page) => {
      await requestEmail(page, url, 'device-code@example.com');
      await page.getByLabel('Code from the email').fill('bcdf ghjk');
      await pressed(page, 'Sign in');
      await page.getByText("That's the code of your device").waitFor();
    },
  },
  {
    name: 'magic-link-here',
    open: async (page) => {
      const seen = await mailsSoFar(url, 'here@example.com');
      await requestEmail(page, url, 'here@example.com');
      const token = linkTokenIn(await mailTo(url, 'here@example.com', seen));
      await page.goto(`${url}/magic-link#token=${token}`);
      await page.getByRole('button', { name: 'Sign in as here@example.com' }).waitFor();
    },
  },
  {
    name: 'magic-link-elsewhere',
    open: async (page) => {
      await page.goto(await newLinkTo(url, 'elsewhere@example.com'));
      await headed(page, 'Where do you want to sign in?');
    },
  },
  {
    name: 'magic-link-wrong-address',
    open: async (page) => {
      await page.goto(await newLinkTo(url, 'mistyped@example.com'));
      await page.getByLabel('Email address').fill('mistypde@example.com');
      await pressed(page, 'Sign in');
      await page.getByText('This link was not sent to').waitFor();
    },
  },
  {
    name: 'magic-link-dead',
    open: async (page) => {
      await page.goto(`${url}/magic-link#token=lk_ml_expired`);
      await headed(page, 'This link no longer works');
    },
  },
  {
    name: 'magic-link-checking',
    open: async (page) => {
      await page.route('**/magic_link/preview', () => {});
      await page.goto(`${url}/magic-link#token=lk_ml_slow`);
      await page.getByRole('status').getByText('Loading…').waitFor();
    },
  },
  {
    name: 'magic-link-used',
    open: async (page) => {
      const seen = await mailsSoFar(url, 'used@example.com');
      await requestEmail(page, url, 'used@example.com');
      const token = linkTokenIn(await mailTo(url, 'used@example.com', seen));
      await page.goto(`${url}/magic-link#token=${token}`);
      await page.route('**/account', (route) => route.fulfill({ status: 204 }));
      await pressed(page, 'Sign in as used@example.com');
      await page.getByText('Signed in.').waitFor();
      await page.reload();
      await headed(page, "You've already used this link");
    },
  },
  {
    name: 'magic-link-incomplete',
    open: async (page) => {
      await page.goto(`${url}/magic-link`);
      await headed(page, 'This link is incomplete');
    },
  },
];
