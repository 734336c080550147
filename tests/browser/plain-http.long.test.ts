// Pages over plain http on a host that is not this machine, as with LATCHKEY_INSECURE_HTTP in a private network. Browsers then say
// nothing about where a request comes from, and lack what they keep for secure contexts: passkeys, locks, the clipboard.

import { expect, test } from 'bun:test';
import { newPage } from '#support/browser.ts';
import { startDevice } from '#support/devices.ts';
import { codeIn } from '#support/http.ts';
import { button, headed, pressed } from '#support/people.ts';
import { startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { plainText, startSmtp } from '#support/smtp.ts';

const address = 'http://login.test';
const email = 'ada@example.com';

const smtp = shared(() => startSmtp());
const service = shared(() =>
  startService({
    env: { LATCHKEY_BASE_URL: address, LATCHKEY_INSECURE_HTTP: 'on', LATCHKEY_SMTP_URL: smtp.url },
  }),
);

test('a user signs in with the code from an email, changes the account and approves a device; no page offers passkeys', async () => {
  const page = await newPage({ proxy: { server: service.url } });
  await page.goto(`${address}/account`);
  await page.getByLabel('Email address').fill(email);
  expect(await button(page, 'Sign in with a passkey').count()).toBe(0);
  await pressed(page, 'Email me a link');
  await headed(page, 'Check your email');
  const [mail] = await smtp.received(1);
  const code = codeIn({ text: plainText(mail!.raw).replaceAll('\r', '') });
  await page.getByLabel('Code from the email').fill(code);
  await pressed(page, 'Sign in');
  await page.locator('#profile-email').getByText(email).waitFor();
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await page.getByText("Passkeys aren't available at this address.").waitFor();
  expect(await button(page, 'Add a passkey').count()).toBe(0);
  await pressed(page, 'Edit profile');
  await page.getByLabel('Name').fill('Ada Lovelace');
  await pressed(page, 'Save');
  await page.locator('#profile-name').getByText('Ada Lovelace').waitFor();

  const { user_code } = await startDevice(service);
  await page.goto(`${address}/device?user_code=${user_code}`);
  await pressed(page, 'Approve');
  await page.getByText('Waiting for your device').waitFor();
});
