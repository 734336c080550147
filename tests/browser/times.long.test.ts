// Times on pages: as the profile says, else as the browser does.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, untilLoaded } from '../support/browser.ts';
import { service } from '../support/page-service.ts';
import { giveSession, signIn, startDevice } from '../support/people.ts';
import { changeStore } from '../support/service.ts';

const inNewYork = { locale: 'en-US', timezoneId: 'America/New_York' };
/** As Chromium in New York writes times, and as an Indian who speaks German wants them. */
const american = /^[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d\s[AP]M$/;
const indian = /^\d\d\.\d\d\.\d{4}, \d\d:\d\d UTC\+5:30$/;

/** Stores preferences as an earlier release, with other checks, may have done. */
const storePreferences = (email: string, locale: string | null, zone: string | null) =>
  changeStore(service, 'UPDATE users SET locale = ?, time_zone = ? WHERE email = ?', [locale, zone, email]);

/** All times of the page, as they are written in full, after its lists have loaded. */
async function timesOn(page: Page): Promise<string[]> {
  await page.locator('#sessions time, #expires time').first().waitFor();
  await untilLoaded(page);
  return page
    .locator('time:not([role=timer])')
    .evaluateAll((all) => all.map((time) => (time as HTMLElement).title || (time.textContent ?? '')));
}

const allMatch = (texts: readonly string[], pattern: RegExp) =>
  expect([texts.length > 1, texts.filter((text) => !pattern.test(text))]).toEqual([true, []]);

/** In any language. Another one than that of the page loads it again. */
async function saveProfile(page: Page, locale: string, zone: string): Promise<void> {
  await page.locator('#edit-profile').click();
  await page.locator('#edit-locale').selectOption(locale);
  await page.locator('#edit-time_zone').fill(zone);
  await page.locator('form:has(#edit-locale) button[type=submit]').click();
  await page.locator('#edit-profile').waitFor();
}

test('the account page follows the profile at once when it is saved, and the browser without it', async () => {
  const page = await newPage(inNewYork);
  await signIn(page, service.url, 'ada@example.com');
  allMatch(await timesOn(page), american);
  await saveProfile(page, 'de', 'Asia/Kolkata');
  allMatch(await timesOn(page), indian);
  const [first] = await page
    .locator('#sessions time')
    .evaluateAll((all) => all.map((time) => [time.getAttribute('title'), time.getAttribute('datetime')]));
  const moment = new Date(first![1]!);
  const written = new Intl.DateTimeFormat('de', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'Asia/Kolkata',
  });
  expect(first![0]).toBe(`${written.format(moment)} UTC+5:30`);
  await page.reload();
  allMatch(await timesOn(page), indian);
  await saveProfile(page, '', '');
  allMatch(await timesOn(page), american);
});

test('the account page says how long ago something was, and its date and time on hover', async () => {
  const page = await newPage(inNewYork);
  await page.clock.install();
  await signIn(page, service.url, 'ago@example.com');
  await page.clock.fastForward('03:00:00');
  await page.reload();
  const time = page.locator('#events').getByText('3 hours ago').last();
  await time.waitFor();
  expect(await time.getAttribute('title')).toMatch(american);
});

test('a time zone with the time of this browser is not named', async () => {
  const page = await newPage(inNewYork);
  await signIn(page, service.url, 'grace@example.com');
  await saveProfile(page, 'de', 'America/Toronto');
  allMatch(await timesOn(page), /^\d\d\.\d\d\.\d{4}, \d\d:\d\d$/);
});

test('the device page follows the profile, and writes other scripts in isolation', async () => {
  const page = await newPage(inNewYork);
  const email = 'device-times@example.com';
  await giveSession(page, service.url, email);
  const { verification_uri_complete: link } = await startDevice(service.url);
  storePreferences(email, 'de', 'Asia/Kolkata');
  await page.goto(link);
  expect((await timesOn(page))[0]).toMatch(indian);
  const expires = page.locator('#expires time');
  expect(await expires.getAttribute('title')).toMatch(/^\d\d:\d\d UTC\+5:30$/);
  expect(await expires.innerText()).toMatch(/^9\s\S+(\s\d+\s\S+)?$|^10\s\S+$/);
  storePreferences(email, 'he', null);
  await page.reload();
  expect((await timesOn(page))[0]).toMatch(/\p{Script=Hebrew}/u);
  const time = page.locator('#requested-at time');
  expect(await time.evaluate((element) => getComputedStyle(element).unicodeBidi)).toBe('isolate');
});

test('a stored locale or time zone that the browser does not know breaks nothing', async () => {
  const page = await newPage(inNewYork);
  const errors: string[] = [];
  page.on('pageerror', (error) => void errors.push(String(error)));
  const email = 'old-times@example.com';
  await signIn(page, service.url, email);
  for (const [locale, zone, pattern] of [
    ['de_CH nonsense', 'Atlantis/Port', american],
    ['de', 'Atlantis/Port', /^\d\d\.\d\d\.\d{4}, \d\d:\d\d$/],
    ['tlh', 'Asia/Kolkata', /^[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d\s[AP]M UTC\+5:30$/],
  ] as const) {
    storePreferences(email, locale, zone);
    await page.goto(`${service.url}/account`);
    allMatch(await timesOn(page), pattern);
  }
  expect(errors).toEqual([]);
});
