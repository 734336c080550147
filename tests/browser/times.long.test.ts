// Times and the language of pages: as the profile says, else as the browser does. How times are written:
// packages/dashboard/src/format.test.ts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, untilLoaded } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { startDevice } from '#support/devices.ts';
import { signIn, titled } from '#support/people.ts';
import { changeStore } from '#support/service.ts';
import { allTexts } from '../../packages/dashboard/src/languages/all.ts';

const inNewYork = { locale: 'en-US', timezoneId: 'America/New_York' };
/** As Chromium in New York writes times, and as an Indian who speaks German wants them. */
const american = /^[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d\s[AP]M$/;
const indian = /^\d\d\.\d\d\.\d{4}, \d\d:\d\d UTC\+5:30$/;

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

test('times and language follow the profile at once when it is saved, also on other pages, and the browser without it or with what the browser does not know', async () => {
  const page = await newPage(inNewYork);
  const errors: string[] = [];
  page.on('pageerror', (error) => void errors.push(String(error)));
  const email = 'ada@example.com';
  await signIn(page, service.url, email);
  allMatch(await timesOn(page), american);
  expect(await page.locator('#events time').first().innerText()).not.toMatch(american);
  await titled(page, allTexts.en.account.heading);
  await saveProfile(page, 'de', 'Asia/Kolkata');
  await titled(page, allTexts.de.account.heading);
  await page.getByText(allTexts.de.account.profile.saved).waitFor();
  allMatch(await timesOn(page), indian);
  await page.goto(`${service.url}/login`);
  await titled(page, allTexts.de.login.signedIn);
  await page.goto(`${service.url}/account`);
  allMatch(await timesOn(page), indian);
  await page.goto((await startDevice(service)).verification_uri_complete);
  expect((await timesOn(page))[0]).toMatch(indian);
  const expires = page.locator('#expires time');
  expect(await expires.getAttribute('title')).toMatch(/^\d\d:\d\d UTC\+5:30$/);
  expect(await expires.innerText()).toMatch(/^9\s\S+(\s\d+\s\S+)?$|^10\s\S+$/);

  // As an earlier release, with other checks, may have stored them.
  const store = (locale: string | null, zone: string | null) =>
    changeStore(service, 'UPDATE users SET locale = ?, time_zone = ? WHERE email = ?', [locale, zone, email]);
  store('he', null);
  await page.reload();
  expect((await timesOn(page))[0]).toMatch(/\p{Script=Hebrew}/u);
  const time = page.locator('#requested-at time');
  expect(await time.evaluate((element) => getComputedStyle(element).unicodeBidi)).toBe('isolate');
  store('fr-CA', null);
  await page.goto(`${service.url}/account`);
  await titled(page, allTexts.fr.account.heading);
  store('de_CH nonsense', 'Atlantis/Port');
  await page.goto(`${service.url}/account`);
  allMatch(await timesOn(page), american);
  await saveProfile(page, '', '');
  await titled(page, allTexts.en.account.heading);
  allMatch(await timesOn(page), american);
  expect((await page.context().cookies()).filter(({ name }) => name === 'latchkey_language')).toEqual([]);
  expect(errors).toEqual([]);
});
