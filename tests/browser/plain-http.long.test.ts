// Pages over plain http on a host that is not this machine, as with LATCHKEY_INSECURE_HTTP in a private network. Browsers then say
// nothing about where a request comes from, and lack what they keep for secure contexts: passkeys, locks, the clipboard.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '#support/browser.ts';
import { codeIn } from '#support/http.ts';
import { button, headed, pressed, startDevice } from '#support/people.ts';
import { startService, type TestService } from '#support/service.ts';
import { plainText, startSmtp, type TestSmtp } from '#support/smtp.ts';

const address = 'http://login.test';
const email = 'ada@example.com';

let service: TestService;
let smtp: TestSmtp;
let page: Page;

beforeAll(async () => {
  smtp = await startSmtp();
  service = await startService({
    env: { LATCHKEY_BASE_URL: address, LATCHKEY_INSECURE_HTTP: 'on', LATCHKEY_SMTP_URL: smtp.url },
  });
  page = await signedIn();
});
afterAll(async () => {
  await page.context().close();
  await Promise.all([service.stop(), smtp.close()]);
});

/** A browser for which the service is at `address`. Its page is signed in with the code from an email. */
async function signedIn(): Promise<Page> {
  const opened = await newPage({ proxy: { server: service.url } });
  await opened.goto(`${address}/account`);
  await opened.getByLabel('Email address').fill(email);
  await pressed(opened, 'Email me a link');
  await headed(opened, 'Check your email');
  const [mail] = await smtp.received(1);
  await opened
    .getByLabel('Code from the email')
    .fill(codeIn({ text: plainText(mail!.raw).replaceAll('\r', '') }));
  await pressed(opened, 'Sign in');
  await opened.locator('#profile-email').getByText(email).waitFor();
  return opened;
}

test('a user signs in, reads and changes the account, and approves a device', async () => {
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await page.goto(`${address}/account`);
  await pressed(page, 'Edit profile');
  await page.getByLabel('Name').fill('Ada Lovelace');
  await pressed(page, 'Save');
  await page.locator('#profile-name').getByText('Ada Lovelace').waitFor();

  const { user_code } = await startDevice(service.url);
  await page.goto(`${address}/device?user_code=${user_code}`);
  await pressed(page, 'Approve');
  await page.getByText('Waiting for your device').waitFor();
});

test('a page that cannot have passkeys offers none', async () => {
  await page.goto(`${address}/account`);
  await page.getByText("Passkeys aren't available at this address.").waitFor();
  expect(await page.getByRole('button', { name: 'Add a passkey' }).count()).toBe(0);
  await page.goto(`${address}/login?prompt=login`);
  await button(page, 'Email me a link').waitFor();
  expect(await button(page, 'Sign in with a passkey').count()).toBe(0);
});
