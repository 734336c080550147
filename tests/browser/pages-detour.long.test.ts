// From a device code to the sign-in page and back, on a phone. With a passkey: pages-keyboard.test.ts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage } from '#support/browser.ts';
import { codeIn, linkTokenIn, mailTo } from '#support/http.ts';
import { service } from '#support/page-service.ts';
import { newAddress, phone, pollDevice, startDevice, titled } from '#support/people.ts';

const tap = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).tap();
const asks = (page: Page) => titled(page, 'Let this device sign in as you?');

test.each(['code', 'link'])(
  'signing in with the emailed %s returns to the device code, which survives a reload and can be approved',
  async (proof) => {
    const email = newAddress();
    const page = await newPage(phone);
    const device = await startDevice(service.url);
    await page.goto(device.verification_uri_complete);
    await page.waitForURL(/\/login\?next=/);
    await page.getByText('A device is waiting with this code').waitFor();
    expect(await page.locator('#waiting output').innerText()).toBe(device.user_code);
    await page.getByLabel('Email address').fill(email);
    await tap(page, 'Email me a link');
    // The browser remembers that it asked when it gets the response, which the email can overtake.
    await page.getByLabel('Code from the email').waitFor();
    const mail = await mailTo(service.url, email);
    if (proof === 'code') {
      await page.getByLabel('Code from the email').fill(codeIn(mail));
      await tap(page, 'Sign in');
    } else {
      await page.goto(`${service.url}/magic-link#token=${linkTokenIn(mail)}`);
      await tap(page, `Sign in as ${email}`);
    }
    await asks(page);
    await page.reload();
    await asks(page);
    expect(await page.locator('#shown-code').innerText()).toBe(device.user_code);
    await page.locator('#approve').tap();
    await titled(page, 'Approved');
    expect(await pollDevice(service.url, device)).toBe('tokens');
  },
);
