// The API reference in a real browser: copying and navigation, with and without its script.

import { expect, test } from 'bun:test';
import type { BrowserContextOptions } from 'playwright-core';
import { newPage, pauseClock } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { phone } from '#support/people.ts';

/** A page of the reference. */
async function open(options: BrowserContextOptions = {}) {
  const page = await newPage(options);
  await page.goto(`${service.url}/docs`);
  return page;
}

test('the button beside an example copies exactly its code', async () => {
  const page = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
  // The button says so for a moment only.
  await page.clock.install();
  await pauseClock(page);
  const example = page.locator('#getProfile figure').first();
  await example.getByRole('button', { name: 'Copy' }).click();
  await example.getByText('Copied').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toBe(`curl '${service.url}/api/v1/auth/me' \\\n  -H "Authorization: Bearer $ACCESS_TOKEN"`);
});

test('on a phone the navigation opens from its button and closes when it has led somewhere', async () => {
  const page = await open(phone);
  const navigation = page.getByRole('navigation');
  expect(await navigation.count()).toBe(0);
  await page.getByRole('button', { name: 'Menu' }).click();
  await navigation.getByRole('link', { name: 'Approve a device' }).click();
  await page.waitForURL('**#approveDevice');
  await navigation.waitFor({ state: 'hidden' });
});

test('without a script everything can be read', async () => {
  const page = await open({ javaScriptEnabled: false });
  expect(await page.locator('#refresh').getByText('curl -X POST').first().isVisible()).toBe(true);
  await page.getByRole('navigation').getByRole('link', { name: 'Keys', exact: true }).click();
  await page.waitForURL('**/docs#keys');
});
