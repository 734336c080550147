// From a device code to the sign-in page and back, with every sign-in method, on a phone.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { codeIn, linkTokenIn, mailTo, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { giveAuthenticator, phone, signedIn, startDevice } from '../support/people.ts';

const tap = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).tap();

const question = (page: Page) =>
  page.getByRole('heading', { name: 'Let this device sign in as you?', level: 1 });

async function requestEmail(page: Page, email: string) {
  await page.getByLabel('Email address').fill(email);
  await tap(page, 'Email me a link');
  // The browser remembers that it asked when it gets the response, which the email can overtake.
  await page.getByLabel('Code from the email').waitFor();
  return mailTo(service.url, email);
}

interface Method {
  readonly name: string;
  /** Sets up what the user already has. */
  prepare?(page: Page): Promise<void>;
  /** Signs in, starting from the sign-in page. */
  signIn(page: Page, email: string): Promise<void>;
}

const methods: Method[] = [
  {
    name: 'the emailed code',
    signIn: async (page, email) => {
      const code = codeIn(await requestEmail(page, email));
      await page.getByLabel('Code from the email').fill(code);
      await tap(page, 'Sign in');
    },
  },
  {
    name: 'the emailed link',
    signIn: async (page, email) => {
      const token = linkTokenIn(await requestEmail(page, email));
      await page.goto(`${service.url}/magic-link#token=${token}`);
      await tap(page, `Sign in as ${email}`);
    },
  },
  {
    name: 'a passkey',
    prepare: async (page) => {
      await giveAuthenticator(page);
      await signedIn(page, service.url, `${crypto.randomUUID()}@example.com`);
      await page.goto(`${service.url}/account`);
      await tap(page, 'Add a passkey');
      await page.getByText('Passkey added').waitFor();
      await page.context().clearCookies();
    },
    signIn: (page) => tap(page, 'Sign in with a passkey'),
  },
];

test.each(methods.map((method) => [method.name, method] as const))(
  'signing in with %s returns to the device code, which survives a reload and can be approved',
  async (_, method) => {
    const page = await newPage(phone);
    await method.prepare?.(page);
    const device = await startDevice(service.url);
    await page.goto(device.verification_uri_complete);
    await page.waitForURL(/\/login\?next=/);
    await page.getByText('A device is waiting with this code').waitFor();
    expect(await page.locator('#waiting output').innerText()).toBe(device.user_code);
    await method.signIn(page, `${crypto.randomUUID()}@example.com`);
    await question(page).waitFor();
    await page.reload();
    await question(page).waitFor();
    expect(await page.locator('#shown-code').innerText()).toBe(device.user_code);
    await page.locator('#approve').tap();
    await page.getByRole('heading', { name: 'Approved' }).waitFor();
    const { device_code } = device;
    expect((await request(service.url, 'POST', '/token', { json: { device_code } })).status).toBe(200);
  },
);

test('a link opened in another browser refers to the first screen, and signing in there with the code spends the link', async () => {
  const email = `${crypto.randomUUID()}@example.com`;
  const page = await newPage(phone);
  const device = await startDevice(service.url);
  await page.goto(device.verification_uri_complete);
  await page.waitForURL(/\/login\?next=/);
  const mail = await requestEmail(page, email);
  const elsewhere = await newPage(phone);
  await elsewhere.goto(`${service.url}/magic-link#token=${linkTokenIn(mail)}`);
  await elsewhere.getByText('enter the code from the same email there').waitFor();
  await page.getByLabel('Code from the email').fill(codeIn(mail));
  await tap(page, 'Sign in');
  await question(page).waitFor();
  await elsewhere.getByLabel('Email address').fill(email);
  await tap(elsewhere, 'Sign in');
  await elsewhere.getByRole('heading', { name: 'This link no longer works' }).waitFor();
});
