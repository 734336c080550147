// Every page in every state worth checking, for axe-core and for screenshots.

import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Page } from 'playwright-core';
import { createAuthenticator } from './authenticator.ts';
import { apiAt, linkTokenIn, loginByMail, mailTo, request } from './http.ts';
import { startService, type TestService } from './service.ts';

export interface PageState {
  /** Usable as a file name. */
  readonly name: string;
  /** Brings a page of a new browser into this state. */
  readonly open: (page: Page) => Promise<void>;
}

interface PageStates {
  readonly service: TestService;
  readonly states: readonly PageState[];
}

const longName = `Rechnerraum-Süd-${'überlang'.repeat(10)}`;
const rightToLeft = 'חדר השרתים הראשי — الخادم الرئيسي في الطابق الثاني';
const names = ['laptop', longName, rightToLeft, 'build-07 (blue)', 'Сборочная машина на четвёртом этаже'];
const nameOf = (index: number) => (names[index % names.length] as string).slice(0, fieldLimits.clientText);
const fullAccount = { passkeys: fieldLimits.passkeys, logins: 50 };

/** Starts a service with the data that the states show. */
export async function openPageStates(): Promise<PageStates> {
  const service = await startService({ env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } });
  await fillAccount(service.url, 'full@example.com');
  return {
    service,
    states: [...loginStates(service.url), ...deviceStates(service.url), ...others(service.url)],
  };
}

const codeIn = (text: string): string => /^[A-Z]{4}-[A-Z]{4}$/m.exec(text)?.[0] ?? '';
const pressed = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const headed = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor();

/** The newest link with a token in the mails to an address about a subject. */
export async function linkTo(url: string, to: string, subject: string): Promise<string> {
  for (let tries = 0; tries < 500; tries++) {
    const { messages } = (await (await fetch(`${url}/dev/mailbox.json`)).json()) as {
      messages: { to: string; subject: string; text: string }[];
    };
    const mail = messages.find((one) => one.to === to && one.subject.includes(subject));
    if (mail) return /^http\S+#token=\S+$/m.exec(mail.text)?.[0] ?? '';
    await Bun.sleep(20);
  }
  throw new Error(`no mail about ${subject} to ${to}`);
}

async function askForMail(page: Page, url: string, email: string): Promise<void> {
  await page.goto(`${url}/login?prompt=login`);
  await page.getByLabel('Email address').fill(email);
  await pressed(page, 'Email me a link');
  await headed(page, 'Check your email');
}

/** Signs a browser in by typing the code from the mail. */
export async function signIn(page: Page, url: string, email: string): Promise<void> {
  const seen = await mailsSoFar(url, email);
  await askForMail(page, url, email);
  await page.getByLabel('Code from the email').fill(codeIn((await mailTo(url, email, seen)).text));
  await pressed(page, 'Sign in');
  await page.waitForURL(`${url}/account`);
  await headed(page, 'Passkeys');
}

/** Signs a browser in and waits until all parts of the account page are loaded. */
async function seeAccount(page: Page, url: string, email: string): Promise<void> {
  await signIn(page, url, email);
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
}

async function mailsSoFar(url: string, email: string): Promise<number> {
  const { messages } = (await (await fetch(`${url}/dev/mailbox.json`)).json()) as {
    messages: { to: string; text: string; subject: string }[];
  };
  return messages.filter((mail) => mail.to === email && linkTokenIn(mail) !== '').length;
}

export async function startDevice(url: string, json: object = {}) {
  const headers = { 'User-Agent': 'latchkey-cli/0.1.0 (linux; x64)' };
  return (await request(url, 'POST', '/device', { json, headers })).body;
}

async function fillAccount(url: string, email: string): Promise<void> {
  const api = apiAt(url);
  const { access_token: accessToken } = await loginByMail(url, email);
  await api.call('updateProfile', { accessToken, body: { name: rightToLeft } });
  const authenticator = createAuthenticator({ origin: url });
  for (let index = 0; index < fullAccount.passkeys; index++) {
    const options = await api.call('startPasskeyRegistration', { accessToken });
    const body = { ...authenticator.create(options), name: nameOf(index) };
    await api.call('registerPasskey', { accessToken, body });
  }
  for (let index = 0; index < fullAccount.logins; index++) {
    const { user_code, device_code } = await startDevice(url, {
      device_name: nameOf(index),
      client_name: 'latchkey',
    });
    await api.call('approveDevice', { accessToken, body: { user_code } });
    await api.call('redeemDeviceCode', { body: { device_code } });
  }
}

const loginStates = (url: string): PageState[] => [
  {
    name: 'login',
    open: async (page) => {
      await page.goto(`${url}/login`);
      await headed(page, 'Sign in');
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
    open: (page) => askForMail(page, url, 'sent@example.com'),
  },
  {
    name: 'login-reloaded',
    open: async (page) => {
      await askForMail(page, url, 'sent@example.com');
      await page.reload();
      await headed(page, 'Check your email');
    },
  },
  {
    name: 'login-asked-in-another-tab',
    open: async (page) => {
      const tab = await page.context().newPage();
      await askForMail(tab, url, 'sent@example.com');
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
      await signIn(page, url, 'new@example.com');
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
      await askForMail(page, url, 'wrong-code@example.com');
      await page.getByLabel('Code from the email').fill('BBBB-BBBB');
      await pressed(page, 'Sign in');
      await page.getByText("That code didn't work").waitFor();
    },
  },
  {
    name: 'magic-link-here',
    open: async (page) => {
      const seen = await mailsSoFar(url, 'here@example.com');
      await askForMail(page, url, 'here@example.com');
      const token = linkTokenIn(await mailTo(url, 'here@example.com', seen));
      await page.goto(`${url}/magic-link#token=${token}`);
      await page.getByRole('button', { name: 'Sign in as here@example.com' }).waitFor();
    },
  },
  {
    name: 'magic-link-elsewhere',
    open: async (page) => {
      await page.goto(`${url}/magic-link#token=lk_ml_elsewhere`);
      await headed(page, 'Confirm your email');
    },
  },
  {
    name: 'magic-link-expired',
    open: async (page) => {
      await page.goto(`${url}/magic-link#token=lk_ml_expired`);
      await page.getByLabel('Email address').fill('late@example.com');
      await pressed(page, 'Sign in');
      await page.getByText("This link didn't work").waitFor();
    },
  },
  {
    name: 'magic-link-used',
    open: async (page) => {
      const seen = await mailsSoFar(url, 'used@example.com');
      await askForMail(page, url, 'used@example.com');
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

const deviceStates = (url: string): PageState[] => {
  const openPending = async (page: Page, names: object) => {
    const device = await startDevice(url, names);
    await signIn(page, url, 'device@example.com');
    await page.goto(device.verification_uri_complete);
    await headed(page, 'Let this device sign in as you?');
    return device;
  };
  const plain = { client_name: 'latchkey', device_name: 'workshop' };
  return [
    {
      name: 'device-empty',
      open: async (page) => {
        await signIn(page, url, 'device@example.com');
        await page.goto(`${url}/device`);
        await headed(page, 'Device sign-in');
      },
    },
    {
      name: 'device-wrong-code',
      open: async (page) => {
        await signIn(page, url, 'device@example.com');
        await page.goto(`${url}/device?user_code=BBBB-BBBB`);
        await page.getByText('No device is waiting with this code').waitFor();
      },
    },
    {
      name: 'device-pending',
      open: async (page) => {
        await openPending(page, plain);
      },
    },
    {
      name: 'device-pending-other-network',
      open: async (page) => {
        await page.route('**/device/verify', async (route) => {
          const answer = await route.fetch();
          const json = { ...(await answer.json()), same_network: false, ip_address: '203.0.113.7' };
          await route.fulfill({ response: answer, json });
        });
        await openPending(page, plain);
        await page.getByText('Different from yours').waitFor();
      },
    },
    {
      name: 'device-pending-long-names',
      open: async (page) => {
        await openPending(page, {
          client_name: rightToLeft,
          device_name: longName.slice(0, fieldLimits.clientText),
        });
      },
    },
    {
      name: 'device-waiting',
      open: async (page) => {
        await openPending(page, plain);
        await pressed(page, 'Approve');
        await page.getByText('Waiting for your device').waitFor();
      },
    },
    {
      name: 'device-taken-back',
      open: async (page) => {
        await openPending(page, plain);
        await pressed(page, 'Approve');
        await page.getByRole('button', { name: 'Withdraw approval' }).click();
        await headed(page, 'Approval withdrawn');
      },
    },
    {
      name: 'device-done',
      open: async (page) => {
        const { device_code } = await openPending(page, plain);
        await pressed(page, 'Approve');
        await page.getByText('Waiting for your device').waitFor();
        await request(url, 'POST', '/token', { json: { device_code } });
        await page.getByText('Your device is signed in. You can close this window').waitFor();
      },
    },
    {
      name: 'device-not-picked-up',
      open: async (page) => {
        await page.clock.install();
        await openPending(page, plain);
        await pressed(page, 'Approve');
        await page.getByText('Waiting for your device').waitFor();
        await page.clock.fastForward('11:00');
        await page.getByText("Your device didn't finish signing in before the code expired").waitFor();
      },
    },
    {
      name: 'device-signed-out',
      open: async (page) => {
        await openPending(page, plain);
        await pressed(page, 'Approve');
        await page.getByText('Waiting for your device').waitFor();
        await page.context().clearCookies();
        await page.getByText("You've been signed out in this browser").waitFor();
      },
    },
    {
      name: 'device-denied',
      open: async (page) => {
        await openPending(page, plain);
        await pressed(page, 'Deny');
        await headed(page, 'Denied');
      },
    },
  ];
};

const others = (url: string): PageState[] => [
  {
    name: 'account-new',
    open: async (page) => {
      await seeAccount(page, url, 'new@example.com');
      await page.getByText('Skip the email next time').waitFor();
    },
  },
  {
    name: 'account-full',
    open: async (page) => {
      await seeAccount(page, url, 'full@example.com');
      await page.getByRole('button', { name: 'Show all' }).click();
      await page.locator('#sessions > li').nth(fullAccount.logins).waitFor();
    },
  },
  {
    name: 'account-asking',
    open: async (page) => {
      await seeAccount(page, url, 'new@example.com');
      await pressed(page, 'Change email');
      await pressed(page, 'Delete account');
      await pressed(page, 'Sign out everywhere');
    },
  },
  {
    name: 'account-confirm',
    open: async (page) => {
      await seeAccount(page, url, 'new@example.com');
      await pressed(page, 'Change email');
      await page.getByLabel('New email address').fill('newer@example.com');
      const json = {
        error: 'insufficient_user_authentication',
        error_description: 'This needs a login that is recent.',
        request_id: 'r',
      };
      const headers = { 'X-Request-Id': 'r' };
      await page.route('**/auth/me/email', (route) => route.fulfill({ status: 401, headers, json }));
      await pressed(page, 'Send confirmation link');
      await page.getByRole('dialog', { name: "Confirm it's you" }).waitFor();
    },
  },
  {
    name: 'account-somebody-else',
    open: async (page) => {
      await signIn(page, url, 'new@example.com');
      const tab = await page.context().newPage();
      await signIn(tab, url, 'someone.else@example.com');
      await tab.close();
      await pressed(page, 'Sign out here');
      await page.getByRole('dialog', { name: "You're signed in to a different account" }).waitFor();
    },
  },
  {
    name: 'account-loading',
    open: async (page) => {
      await signIn(page, url, 'new@example.com');
      for (const list of ['passkeys', 'sessions?*', 'organizations?*', 'events?*'])
        await page.route(`**/auth/${list}`, () => {});
      await page.reload();
      await page.getByRole('status').getByText('Loading…').waitFor();
      await headed(page, 'Activity');
    },
  },
  {
    name: 'account-loading-profile',
    open: async (page) => {
      await signIn(page, url, 'new@example.com');
      await page.route('**/auth/me', () => {});
      await page.reload();
      await headed(page, 'Your account');
    },
  },
  {
    name: 'account-failed-parts',
    open: async (page) => {
      await signIn(page, url, 'new@example.com');
      await page.route('**/auth/passkeys', (route) => route.abort());
      await page.route('**/auth/sessions?*', (route) => route.abort());
      const json = { error: 'temporarily_unavailable', error_description: '.', request_id: 'r' };
      const headers = { 'X-Request-Id': 'r', 'Retry-After': '30' };
      await page.route('**/auth/events?*', (route) => route.fulfill({ status: 503, headers, json }));
      await page.reload();
      await page.getByText("Your activity couldn't be loaded").waitFor();
      await page.getByText("Your passkeys couldn't be loaded").waitFor();
    },
  },
  {
    name: 'verify-email',
    open: async (page) => {
      await page.goto(`${url}/verify-email#token=lk_ec_some`);
      await page.getByLabel('Current email address').waitFor();
    },
  },
  {
    name: 'verify-email-expired',
    open: async (page) => {
      await page.goto(`${url}/verify-email#token=lk_ec_some`);
      await page.getByLabel('Current email address').fill('ada@example.com');
      await pressed(page, 'Change email');
      await page.getByText("That didn't work").waitFor();
    },
  },
  {
    name: 'verify-email-signed-in',
    open: async (page) => {
      const email = `${crypto.randomUUID()}@example.com`;
      await signIn(page, url, `former-${email}`);
      const { access_token: token } = await loginByMail(url, `former-${email}`);
      await request(url, 'POST', '/me/email', { token, json: { email } });
      await page.goto(await linkTo(url, email, 'Confirm your new address'));
      await page.getByText('will change from').waitFor();
    },
  },
  {
    name: 'verify-email-done',
    open: async (page) => {
      const email = `${crypto.randomUUID()}@example.com`;
      const { access_token: token } = await loginByMail(url, `former-${email}`);
      await request(url, 'POST', '/me/email', { token, json: { email } });
      await page.goto(await linkTo(url, email, 'Confirm your new address'));
      await page.getByLabel('Current email address').fill(`former-${email}`);
      await pressed(page, 'Change email');
      await headed(page, 'Email changed');
    },
  },
  {
    name: 'verify-email-kept',
    open: async (page) => {
      await page.goto(`${url}/verify-email#token=lk_ec_some`);
      await pressed(page, "Don't change");
      await headed(page, 'Nothing was changed');
    },
  },
  {
    name: 'not-me-incomplete',
    open: async (page) => {
      await page.goto(`${url}/not-me`);
      await headed(page, 'This link is incomplete');
    },
  },
  {
    name: 'not-me',
    open: async (page) => {
      await page.goto(`${url}/not-me#token=lk_nm_some`);
      await headed(page, 'Was this you?');
    },
  },
  {
    name: 'not-me-kept',
    open: async (page) => {
      await page.goto(`${url}/not-me#token=lk_nm_some`);
      await pressed(page, 'This was me');
      await headed(page, 'Nothing was changed');
    },
  },
  {
    name: 'not-me-done',
    open: async (page) => {
      const email = `${crypto.randomUUID()}@example.com`;
      const { access_token: token } = await loginByMail(url, email);
      const device = await startDevice(url, { device_name: 'strange laptop' });
      await request(url, 'POST', '/device/approve', { token, json: { user_code: device.user_code } });
      await request(url, 'POST', '/token', { json: { device_code: device.device_code } });
      await page.goto(await linkTo(url, email, 'A new device signed in'));
      await pressed(page, "This wasn't me");
      await headed(page, 'Thanks for letting us know');
    },
  },
  {
    name: 'not-found',
    open: async (page) => {
      await page.goto(`${url}/nowhere`);
      await headed(page, 'Page not found');
    },
  },
  {
    name: 'not-me-approver-ended',
    open: async (page) => {
      const email = `${crypto.randomUUID()}@example.com`;
      const { access_token: token } = await loginByMail(url, email);
      const device = await startDevice(url, { device_name: 'strange laptop' });
      await request(url, 'POST', '/device/approve', { token, json: { user_code: device.user_code } });
      await request(url, 'POST', '/token', { json: { device_code: device.device_code } });
      await page.goto(await linkTo(url, email, 'A new device signed in'));
      await pressed(page, "This wasn't me");
      await pressed(page, 'End this session too');
      await page.getByText('The session that approved the device has ended too').waitFor();
    },
  },
  {
    name: 'docs',
    open: async (page) => {
      await page.goto(`${url}/docs`);
    },
  },
  {
    name: 'dev-mailbox',
    open: async (page) => {
      await request(url, 'POST', '/magic_link', { json: { email: 'mailbox@example.com' } });
      await mailTo(url, 'mailbox@example.com');
      await page.goto(`${url}/dev/mailbox`);
    },
  },
];
