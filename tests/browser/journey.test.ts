// The main journeys, in a real browser against the real service.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { codeIn, mailTo, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';

/** As Japanese keyboards write it. */
const fullWidth = (text: string) =>
  text.replace(/[A-Za-z0-9]/g, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0));

async function requestEmail(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email address').fill(`\u200b${email}\u00a0`);
  await page.getByRole('button', { name: 'Email me a link' }).click();
  await page.getByRole('heading', { name: 'Check your email' }).waitFor();
}

async function signInByCode(page: Page, email: string): Promise<void> {
  if (!page.url().includes('/login')) await page.goto(`${service.url}/login`);
  await requestEmail(page, email);
  const code = codeIn(await mailTo(service.url, email));
  await page.getByLabel('Code from the email').fill(fullWidth(code).replace('-', '\u2212'));
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const startDevice = async () =>
  (await request(service.url, 'POST', '/device', { json: { device_name: 'workshop' } })).body;
const poll = (device_code: string) => request(service.url, 'POST', '/token', { json: { device_code } });

test('a user signs in with the emailed code, and scripts cannot read the credential', async () => {
  const page = await newPage();
  await signInByCode(page, 'code@example.com');
  await page.waitForURL(`${service.url}/account`);
  await page.getByText('code@example.com').first().waitFor();
  expect(await page.evaluate(() => document.cookie)).toBe('');
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(
    'lk_',
  );
});

test('a device sign-in is compared by its code, approved in the browser and completed by the device', async () => {
  const device = await startDevice();
  expect((await poll(device.device_code)).body.error).toBe('authorization_pending');
  const page = await newPage();
  await page.goto(device.verification_uri_complete);
  await page.waitForURL(/\/login\?next=/);
  await signInByCode(page, 'device@example.com');
  await page.getByRole('heading', { name: 'Let this device sign in as you?' }).waitFor();
  expect(await page.locator('#shown-code').innerText()).toBe(device.user_code);
  expect(await page.locator('#device-name').innerText()).toContain('workshop');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Waiting for your device').waitFor();
  const { status, body } = await poll(device.device_code);
  expect(status).toBe(200);
  await page.getByText('Your device is signed in. You can close this window').waitFor();
  const me = await request(service.url, 'GET', '/me', { token: body.access_token });
  expect(me.body.email).toBe('device@example.com');
});

test('a typed device code is accepted in any format, and the sign-in can be denied', async () => {
  const device = await startDevice();
  const page = await newPage();
  await signInByCode(page, 'typed@example.com');
  await page.waitForURL(`${service.url}/account`);
  await page.goto(`${service.url}/device`);
  await page
    .getByLabel('Code from your device')
    .fill(`${fullWidth(device.user_code.toLowerCase()).replace('-', '\u30fc')}\u200b`);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('You denied this request.').waitFor();
  expect((await poll(device.device_code)).body.error).toBe('access_denied');
});
