// From a device code to the sign-in page and back, with every sign-in method, on a phone.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { codeIn, linkTokenIn, mailTo } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import {
  giveAuthenticator,
  newAddress,
  phone,
  pollDevice,
  signedIn,
  startDevice,
  titled,
} from '../support/people.ts';

const tap = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).tap();
const asks = (page: Page) => titled(page, 'Let this device sign in as you?');
const linkTo = (mail: { text: string; to: string; subject: string }) =>
  `${service.url}/magic-link#token=${linkTokenIn(mail)}`;

async function requestEmail(page: Page, email: string) {
  await page.getByLabel('Email address').fill(email);
  await tap(page, 'Email me a link');
  // The browser remembers that it asked when it gets the response, which the email can overtake.
  await page.getByLabel('Code from the email').waitFor();
  return mailTo(service.url, email);
}

/** Opens the link of a device in a browser that is not signed in. */
async function openDevice(page: Page) {
  const device = await startDevice(service.url);
  await page.goto(device.verification_uri_complete);
  await page.waitForURL(/\/login\?next=/);
  await page.getByText('A device is waiting with this code').waitFor();
  expect(await page.locator('#waiting output').innerText()).toBe(device.user_code);
  return device;
}

/** Each signs in from the sign-in page. */
const methods: Record<string, (page: Page, email: string) => Promise<void>> = {
  'the emailed code': async (page, email) => {
    await page.getByLabel('Code from the email').fill(codeIn(await requestEmail(page, email)));
    await tap(page, 'Sign in');
  },
  'the emailed link': async (page, email) => {
    await page.goto(linkTo(await requestEmail(page, email)));
    await tap(page, `Sign in as ${email}`);
  },
  'a passkey': (page) => tap(page, 'Sign in with a passkey'),
};

test.each(Object.entries(methods))(
  'signing in with %s returns to the device code, which survives a reload and can be approved',
  async (method, signIn) => {
    const page = await newPage(phone);
    const email = newAddress();
    if (method === 'a passkey') {
      await giveAuthenticator(page);
      await signedIn(page, service.url, email);
      await page.goto(`${service.url}/account`);
      await tap(page, 'Add a passkey');
      await page.getByText('Passkey added').waitFor();
      await page.context().clearCookies();
    }
    const device = await openDevice(page);
    await signIn(page, email);
    await asks(page);
    await page.reload();
    await asks(page);
    expect(await page.locator('#shown-code').innerText()).toBe(device.user_code);
    await page.locator('#approve').tap();
    await titled(page, 'Approved');
    expect(await pollDevice(service.url, device)).toBe('tokens');
  },
);

test('a link opened in another browser refers to the first screen, and signing in there with the code spends the link', async () => {
  const email = newAddress();
  const page = await newPage(phone);
  await openDevice(page);
  const mail = await requestEmail(page, email);
  const elsewhere = await newPage(phone);
  await elsewhere.goto(linkTo(mail));
  await elsewhere.getByText('enter the code from the same email there').waitFor();
  await page.getByLabel('Code from the email').fill(codeIn(mail));
  await tap(page, 'Sign in');
  await asks(page);
  await elsewhere.getByLabel('Email address').fill(email);
  await tap(elsewhere, 'Sign in');
  await titled(elsewhere, 'This link no longer works');
});
