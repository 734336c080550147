// Managing an account on its page, in a real browser against the real service.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, untilLoaded } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { decideDevice, startDevice } from '#support/devices.ts';
import { codeIn, linkIn, mailTo } from '#support/http.ts';
import {
  alerted,
  confirmByCode,
  confirmed,
  deleteAccount,
  headed,
  pressed,
  signIn as signInAt,
} from '#support/people.ts';
import { changeStore, runOperator } from '#support/service.ts';

const signIn = (page: Page, email: string) => signInAt(page, service.url, email);

/** Makes all sessions an hour older, so that none counts as recent. */
const ageSessions = () => changeStore(service, 'UPDATE sessions SET created_at = created_at - 3600000');

const confirmation = (page: Page) => page.getByRole('dialog', { name: "Confirm it's you" });
const profileOf = async (token: string) => (await service.ask('GET', '/me', { token })).body;
const rows = (page: Page) => page.locator('#events > li');
const nameOn = (page: Page) => page.getByLabel('Name', { exact: true });
const saved = (page: Page) => page.getByText('Profile saved.').waitFor();

test('editing the profile shows errors at their field and keeps what was typed', async () => {
  // Chromium calls it Asia/Calcutta.
  const page = await newPage({ timezoneId: 'Asia/Kolkata' });
  await signIn(page, 'profile@example.com');
  await pressed(page, 'Edit profile');
  const name = nameOn(page);
  await name.fill('\u2060');
  await page.getByLabel('Language').selectOption('English (United States)');
  const timeZone = page.getByLabel('Time zone');
  const offered = await page
    .locator('#time-zones option')
    .evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
  expect(offered[0]).toBe('Asia/Kolkata');
  expect(offered.length).toBeGreaterThan(400);
  expect(new Set(offered).size).toBe(offered.length);
  // By their names of today, and as places.
  expect(offered).toEqual(expect.arrayContaining(['America/New York', 'Europe/Kyiv', 'Pacific/Chuuk']));
  expect(offered.filter((zone) => /_|^Etc|Calcutta|Kiev|Truk/.test(zone))).toEqual([]);
  await timeZone.fill('Atlantis');
  await pressed(page, 'Save');
  await alerted(page, 'Choose a time zone from the list');
  expect(await timeZone.evaluate((input) => input === document.activeElement)).toBe(true);
  // A browser offers only what matches the text, so the text does not stay.
  await name.focus();
  await timeZone.click();
  await page.keyboard.type('us/eastern');
  await pressed(page, 'Save');
  await alerted(page, "That name can't be used");
  expect(await name.evaluate((input) => input === document.activeElement)).toBe(true);
  expect(await name.getAttribute('aria-invalid')).toBe('true');
  await name.fill('Ada Lovelace');
  await name.press('Enter');
  await saved(page);
  await page.locator('button:focus', { hasText: 'Edit profile' }).waitFor();
  await page.reload();
  for (const [field, text] of [
    ['name', 'Ada Lovelace'],
    ['locale', 'English (United States)'],
    ['time_zone', 'America/New York'],
  ])
    expect(await page.locator(`#profile-${field}`).innerText()).toBe(text!);

  await pressed(page, 'Edit profile');
  await page.getByLabel('Language').selectOption('Not set');
  await pressed(page, 'Save');
  await saved(page);
  expect(await page.locator('#profile-locale').innerText()).toBe('Not set');
  await rows(page)
    .getByText(/^Profile updated: .*language/)
    .waitFor();
});

test('saving a profile neither overwrites what was changed elsewhere without asking, nor takes effect twice when its response is lost, nor loads or changes the picture, whose host would learn who looks', async () => {
  const page = await newPage();
  const email = 'two-places@example.com';
  const { access_token: token } = await service.login(email);
  const patch = (json: object) => service.ask('PATCH', '/me', { token, json });
  const picture = { avatar_url: 'https://pictures.example/ada.png' };
  await patch(picture);
  const hosts = new Set<string>();
  page.on('request', (sent) => void hosts.add(new URL(sent.url()).host));
  await signIn(page, email);
  await pressed(page, 'Edit profile');
  await nameOn(page).fill('Typed here');
  await patch({ name: 'Stored elsewhere', locale: 'it' });
  await pressed(page, 'Save');
  await alerted(page, 'changed somewhere else');
  await page.getByText('Current value: Stored elsewhere').waitFor();
  expect(await nameOn(page).inputValue()).toBe('Typed here');
  expect(await page.getByLabel('Language').inputValue()).toBe('it');
  expect((await profileOf(token)).name).toBe('Stored elsewhere');
  await page.route(
    '**/auth/me',
    async (route) => {
      expect(route.request().method()).toBe('PATCH');
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  await pressed(page, 'Save');
  await alerted(page, "Couldn't reach Latchkey");
  await pressed(page, 'Save');
  await saved(page);
  expect(await profileOf(token)).toMatchObject({ name: 'Typed here', locale: 'it', ...picture });
  expect([...hosts].filter((host) => host !== '')).toEqual([new URL(service.url).host]);
});

test('organizations are listed with the role of the user, and further pages on request', async () => {
  const email = 'member@example.com';
  const page = await newPage();
  await signIn(page, email);
  const operate = async (...words: string[]) =>
    expect((await runOperator(service.env, 'organizations', ...words, '--slug', 'acme')).code).toBe(0);
  await operate('create', '--name', 'Acme \u202Eevil');
  await operate('add-member', '--email', email, '--role', 'admin');
  // To fill a real page would take too long.
  await page.route('**/auth/organizations?*', (route) => {
    const address = new URL(route.request().url());
    address.searchParams.set('limit', '1');
    return route.continue({ url: address.href });
  });
  await page.reload();
  const list = page.locator('#organizations > li');
  await list.first().waitFor();
  expect(await list.count()).toBe(1);
  await page.locator('#more-organizations').dblclick();
  await list.nth(1).waitFor();
  expect(await page.locator('#more-organizations').count()).toBe(0);
  const texts = (await list.allInnerTexts()).toSorted();
  expect(texts).toEqual([
    expect.stringContaining('Acme [U+202E]evil Admin'),
    expect.stringMatching(/Owner[\s\S]*Personal/),
  ]);
});

test('the activity list describes events newest first, loads more on request, and shows new events at the top', async () => {
  const email = 'log@example.com';
  const own = await service.login(email);
  const page = await newPage();
  await signIn(page, email);
  const headers = { 'User-Agent': '<b>"ok"</b>' };
  for (let n = 0; n < 12; n++)
    await decideDevice(service, 'deny', await startDevice(service), own, { headers });
  await page.reload();
  await untilLoaded(page);
  const newest = rows(page).first();
  expect(await rows(page).count()).toBe(10);
  expect(await newest.innerText()).toMatch(/^Device sign-in denied\n[\s\S]*Another session/);
  expect(await newest.locator('q.untrusted').isVisible()).toBe(false);
  await newest.locator('summary').press('Enter');
  expect(await newest.locator('q.untrusted').innerText()).toContain("<b>'ok'</b>");
  await page.locator('#more-events').dblclick();
  await rows(page).getByText('Account created').waitFor();
  expect(await page.locator('#more-events').count()).toBe(0);
  const texts = await rows(page).allInnerTexts();
  expect(texts).toHaveLength(15);
  expect(texts.at(-1)).toContain('Account created');
  expect(texts.at(-3)).toMatch(/^Signed in with an email link[\s\S]*This session/);
  // New events appear at the top, and those already shown stay.
  await confirmed(page.locator('#sessions'), 'End session');
  await newest.getByText('Session ended from another session').waitFor();
  expect(await rows(page).count()).toBe(16);
});

test('a change that needs a recent sign-in is confirmed by an emailed code on the same page and then carried out', async () => {
  const email = 'stale@example.com';
  const page = await newPage();
  await signIn(page, email);
  ageSessions();
  const { verification_uri_complete } = await startDevice(service);
  await page.goto(verification_uri_complete);
  await pressed(page, 'Approve');
  await confirmByCode(page, service.url, email);
  await headed(page, 'Approved');
  await page.goto(`${service.url}/account`);
  ageSessions();
  await pressed(page, 'Change email');
  const typed = page.getByLabel('New email address');
  await typed.fill('fresh@example.com');
  await page.getByRole('button', { name: 'Send confirmation link' }).dblclick();
  await confirmation(page).waitFor();
  // Cancelling keeps what was typed and says that nothing was changed.
  await page.keyboard.press('Escape');
  await alerted(page, 'Nothing was changed');
  expect(await typed.inputValue()).toBe('fresh@example.com');
  await pressed(page, 'Send confirmation link');
  await pressed(page, 'Email me a code');
  await page.getByLabel('Code from the email').fill('0000-0000');
  await pressed(page, 'Confirm');
  await confirmation(page).getByRole('alert').getByText("That code didn't work").waitFor();
  await page.getByLabel('Code from the email').fill(codeIn(await mailTo(service.url, email, 2)));
  await page.getByLabel('Code from the email').press('Enter');
  await page.getByText('We sent a link to fresh@example.com').waitFor();
  expect(page.url()).toBe(`${service.url}/account`);
  // The new session replaced the old one.
  await rows(page).getByText('Session replaced by a new sign-in').first().waitFor();
  expect(await page.locator('#sessions > li').count()).toBe(1);
  await page.locator('#sessions').getByText('This session').waitFor();
});

test('opening the emailed link in another tab of the same browser confirms the pending change', async () => {
  const email = 'by-link@example.com';
  const page = await newPage();
  await signIn(page, email);
  ageSessions();
  await deleteAccount(page, email);
  await pressed(page, 'Email me a code');
  // Only then does the browser know that it has asked for the link.
  await page.getByLabel('Code from the email').waitFor();
  const tab = await page.context().newPage();
  await tab.goto(linkIn(await mailTo(service.url, email, 1)));
  await pressed(tab, `Sign in as ${email}`);
  await page.waitForURL(/\/login$/);
});

test('confirming as another user carries out nothing in their account', async () => {
  const page = await newPage();
  const [shown, theirs] = ['shown@example.com', 'theirs@example.com'];
  await signIn(page, shown);
  ageSessions();
  const { access_token: token } = await service.login(theirs);
  const { body: sent } = await service.ask('POST', '/magic_link', { json: { email: theirs } });
  const code = codeIn(await mailTo(service.url, theirs, 1));
  await page.route('**/magic_link/verify?*', (route) =>
    route.continue({ postData: JSON.stringify({ request: sent.request, code }) }),
  );
  await deleteAccount(page, shown);
  await confirmByCode(page, service.url, shown);
  await page.locator('#profile-email').getByText(theirs).waitFor();
  expect((await profileOf(token)).email).toBe(theirs);
});

test('after signing out in another tab, going back to the page does not show it', async () => {
  const email = 'ended@example.com';
  const page = await newPage();
  await signIn(page, email);
  const other = await page.context().newPage();
  await other.goto(`${service.url}/account`);
  await pressed(other, 'Sign out');
  await other.waitForURL(/\/login/);
  await page.goto(`${service.url}/docs`);
  await page.goBack();
  await page.waitForURL(`${service.url}/login?next=%2Faccount`);
  expect(await page.getByText(email).count()).toBe(0);
  await signIn(page, email);
  await page.goBack();
  await page.goForward();
  await headed(page, 'Your account');
});
