// Managing an account on its page, in a real browser against the real service.

import { expect, test } from 'bun:test';
import type { Page, Route } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { codeIn, denyDevice, linkIn, loginByMail, mailTo, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { confirmed, deleteAccount, oneOrganizationPerPage, signIn as signInAt } from '../support/people.ts';
import { changeStore, runOperator } from '../support/service.ts';

const signIn = (page: Page, email: string) => signInAt(page, service.url, email);

/** Makes all sessions an hour older, so that none counts as recent. */
const ageSessions = () => changeStore(service, 'UPDATE sessions SET created_at = created_at - 3600000');

const confirmation = (page: Page) => page.getByRole('dialog', { name: "Confirm it's you" });

async function confirmByCode(page: Page, email: string, seen: number): Promise<void> {
  const dialog = confirmation(page);
  await dialog.getByRole('button', { name: 'Email me a code' }).click();
  await dialog.getByLabel('Code from the email').fill(codeIn(await mailTo(service.url, email, seen)));
  await dialog.getByLabel('Code from the email').press('Enter');
  await dialog.waitFor({ state: 'detached' });
}

const profileOf = async (token: string) => (await request(service.url, 'GET', '/me', { token })).body;
const rows = (page: Page) => page.locator('#events > li');

test('editing the profile shows errors at their field and keeps what was typed', async () => {
  // Chromium calls it Asia/Calcutta.
  const page = await newPage({ timezoneId: 'Asia/Kolkata' });
  await signIn(page, 'profile@example.com');
  await page.getByRole('button', { name: 'Edit profile' }).click();
  const name = page.getByLabel('Name', { exact: true });
  await name.fill('\u2060');
  await page.getByLabel('Language').selectOption('English (United States)');
  const timeZone = page.getByLabel('Time zone');
  const [first, ...others] = await page
    .locator('#time-zones option')
    .evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
  const current = Intl.supportedValuesOf('timeZone').filter((zone) => !zone.startsWith('Etc/'));
  expect(first).toBe('Asia/Kolkata');
  expect(others.concat(first!).sort()).toEqual(current.map((zone) => zone.replaceAll('_', ' ')).sort());
  await timeZone.fill('Atlantis');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('Choose a time zone from the list').waitFor();
  expect(await timeZone.evaluate((input) => input === document.activeElement)).toBe(true);
  // A browser offers only what matches the text, so the text does not stay.
  await name.focus();
  await timeZone.click();
  await page.keyboard.type('us/eastern');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText("That name can't be used").waitFor();
  expect(await name.evaluate((input) => input === document.activeElement)).toBe(true);
  expect(await name.getAttribute('aria-invalid')).toBe('true');
  expect(await page.getByLabel('Language').inputValue()).toBe('en-US');
  await page.context().setOffline(true);
  await name.fill('Ada Lovelace');
  await name.press('Enter');
  await page.getByRole('alert').getByText('Check your connection and try again').waitFor();
  await page.context().setOffline(false);
  await name.press('Enter');
  await page.getByText('Profile saved.').waitFor();
  await page.reload();
  expect(await page.locator('#profile-name').innerText()).toBe('Ada Lovelace');
  expect(await page.locator('#profile-locale').innerText()).toBe('English (United States)');
  expect(await page.locator('#profile-time_zone').innerText()).toBe('America/New York');

  await page.getByRole('button', { name: 'Edit profile' }).click();
  await page.getByLabel('Language').selectOption('Not set');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Profile saved.').waitFor();
  expect(await page.locator('#profile-locale').innerText()).toBe('Not set');
  await rows(page)
    .getByText(/^Profile updated: .*language/)
    .waitFor();
});

test('the page never loads the picture of a profile, whose host would learn who looks, and saving keeps it', async () => {
  const page = await newPage();
  const email = 'picture@example.com';
  const { access_token: token } = await loginByMail(service.url, email);
  const picture = 'https://pictures.example/ada.png';
  await request(service.url, 'PATCH', '/me', { token, json: { avatar_url: picture } });
  const hosts = new Set<string>();
  page.on('request', (sent) => void hosts.add(new URL(sent.url()).host));
  await signIn(page, email);
  await page.getByRole('button', { name: 'Edit profile' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Ada');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Profile saved.').waitFor();
  expect((await profileOf(token)).avatar_url).toBe(picture);
  expect([...hosts].filter((host) => host !== '')).toEqual([new URL(service.url).host]);
});

test('a profile changed somewhere else is not overwritten without asking, and the form keeps what was typed', async () => {
  const page = await newPage();
  await signIn(page, 'two-places@example.com');
  const { access_token: token } = await loginByMail(service.url, 'two-places@example.com');
  await page.getByRole('button', { name: 'Edit profile' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Typed here');
  const json = { name: 'Stored elsewhere', locale: 'it' };
  await request(service.url, 'PATCH', '/me', { token, json });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('changed somewhere else').waitFor();
  await page.getByText('Current value: Stored elsewhere').waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Typed here');
  expect(await page.getByLabel('Language').inputValue()).toBe('it');
  expect((await profileOf(token)).name).toBe('Stored elsewhere');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Profile saved.').waitFor();
  expect(await profileOf(token)).toMatchObject({ name: 'Typed here', locale: 'it' });
});

test('a profile save whose response is lost takes effect once, and saving again reports success', async () => {
  const page = await newPage();
  await signIn(page, 'lost@example.com');
  await page.getByRole('button', { name: 'Edit profile' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Stored all the same');
  const lose = async (route: Route) => {
    if (route.request().method() !== 'PATCH') return route.fallback();
    await route.fetch();
    return route.abort();
  };
  await page.route('**/auth/me', lose);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
  await page.unroute('**/auth/me', lose);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Profile saved.').waitFor();
  expect(await page.locator('#profile-name').innerText()).toBe('Stored all the same');
});

test('organizations are listed with the role of the user, and further pages on request', async () => {
  const email = 'member@example.com';
  const page = await newPage();
  await signIn(page, email);
  const create = ['organizations', 'create', '--slug', 'acme', '--name', 'Acme \u202Eevil'];
  expect((await runOperator(service.env, ...create)).code).toBe(0);
  const add = ['organizations', 'add-member', '--slug', 'acme', '--email', email, '--role', 'admin'];
  expect((await runOperator(service.env, ...add)).code).toBe(0);
  await oneOrganizationPerPage(page);
  await page.reload();
  const list = page.locator('#organizations > li');
  await list.first().waitFor();
  expect(await list.count()).toBe(1);
  await page.locator('#more-organizations').dblclick();
  await list.nth(1).waitFor();
  expect(await page.locator('#more-organizations').count()).toBe(0);
  expect(await list.count()).toBe(2);
  const texts = await list.allInnerTexts();
  expect(texts.find((text) => text.includes('Acme'))).toContain('Acme [U+202E]evil Admin');
  expect(texts.find((text) => text.includes('Personal'))).toContain('Owner');
});

test('the activity list describes events newest first, loads more on request, and shows new events at the top', async () => {
  const email = 'log@example.com';
  const page = await newPage();
  await signIn(page, email);
  const { access_token: token } = await loginByMail(service.url, email);
  for (let n = 0; n < 12; n++) await denyDevice(service.url, token, { 'User-Agent': '<b>"ok"</b>' });
  await page.reload();
  await rows(page).first().waitFor();
  expect(await rows(page).count()).toBe(10);
  expect(await rows(page).first().innerText()).toMatch(/^Device sign-in denied\n[\s\S]*Another session/);
  expect(await rows(page).first().locator('q.untrusted').isVisible()).toBe(false);
  await rows(page).first().locator('summary').press('Enter');
  expect(await rows(page).first().locator('q.untrusted').innerText()).toContain("<b>'ok'</b>");
  await page.locator('#more-events').dblclick();
  await rows(page).getByText('Account created').waitFor();
  const texts = await rows(page).allInnerTexts();
  expect(texts).toHaveLength(15);
  expect(texts.at(-1)).toContain('Account created');
  expect(texts.at(-2)).toContain('Signed in with an email link');
  expect(texts.at(-2)).toContain('This session');
  expect(await page.locator('#more-events').count()).toBe(0);
  // New events appear at the top, and those already shown stay.
  await confirmed(page.locator('#sessions'), 'End session');
  await page.getByText('Session ended.').waitFor();
  await rows(page).getByText('Session ended from another session').waitFor();
  expect(await rows(page).count()).toBe(16);
  expect(await rows(page).first().innerText()).toContain('Session ended from another session');
});

test('a change that needs a recent sign-in is confirmed by an emailed code on the same page and then carried out', async () => {
  const email = 'stale@example.com';
  const page = await newPage();
  await signIn(page, email);
  ageSessions();
  await page.getByRole('button', { name: 'Change email' }).click();
  await page.getByLabel('New email address').fill('fresh@example.com');
  await page.getByRole('button', { name: 'Send confirmation link' }).dblclick();
  await confirmation(page).waitFor();
  // Cancelling keeps what was typed and says that nothing was changed.
  await page.keyboard.press('Escape');
  await page.getByRole('alert').getByText('Nothing was changed').waitFor();
  expect(await page.getByLabel('New email address').inputValue()).toBe('fresh@example.com');
  await page.getByRole('button', { name: 'Send confirmation link' }).click();
  await confirmation(page).getByRole('button', { name: 'Email me a code' }).click();
  await confirmation(page).getByLabel('Code from the email').fill('0000-0000');
  await confirmation(page).getByRole('button', { name: 'Confirm', exact: true }).click();
  await confirmation(page).getByRole('alert').getByText("That code didn't work").waitFor();
  await confirmation(page)
    .getByLabel('Code from the email')
    .fill(codeIn(await mailTo(service.url, email, 1)));
  await confirmation(page).getByLabel('Code from the email').press('Enter');
  await page.getByText('We sent a link to fresh@example.com').waitFor();
  expect(page.url()).toBe(`${service.url}/account`);
  // The new session replaced the old one.
  await rows(page).getByText('Session replaced by a new sign-in').waitFor();
  expect(await page.locator('#sessions > li').count()).toBe(1);
  await page.locator('#sessions').getByText('This session').waitFor();
});

test('opening the emailed link in another tab of the same browser confirms the pending change', async () => {
  const email = 'by-link@example.com';
  const page = await newPage();
  await signIn(page, email);
  ageSessions();
  await deleteAccount(page, email);
  await confirmation(page).getByRole('button', { name: 'Email me a code' }).click();
  const link = linkIn(await mailTo(service.url, email, 1));
  const tab = await page.context().newPage();
  await tab.goto(link);
  await tab.getByRole('button', { name: `Sign in as ${email}` }).click();
  await page.waitForURL(/\/login$/);
});

test('approving a device without a recent sign-in works after confirming on the same page', async () => {
  const email = 'stale-approver@example.com';
  const page = await newPage();
  await signIn(page, email);
  ageSessions();
  const { body } = await request(service.url, 'POST', '/device');
  await page.goto(body.verification_uri_complete);
  await page.getByRole('button', { name: 'Approve' }).click();
  await confirmByCode(page, email, 1);
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
});

test('confirming as another user carries out nothing in their account', async () => {
  const page = await newPage();
  await signIn(page, 'shown@example.com');
  ageSessions();
  const other = await loginByMail(service.url, 'theirs@example.com');
  await deleteAccount(page, 'Shown@example.com');
  await confirmation(page).getByRole('button', { name: 'Email me a code' }).click();
  const { body } = await request(service.url, 'POST', '/magic_link', {
    json: { email: 'theirs@example.com' },
  });
  const code = codeIn(await mailTo(service.url, 'theirs@example.com', 1));
  await page.route('**/magic_link/verify?*', (route) =>
    route.continue({ postData: JSON.stringify({ request: body.request, code }) }),
  );
  await confirmation(page).getByLabel('Code from the email').fill(code);
  await confirmation(page).getByLabel('Code from the email').press('Enter');
  await page.locator('#profile-email').getByText('theirs@example.com').waitFor();
  expect((await profileOf(other.access_token)).email).toBe('theirs@example.com');
});

test('when the session has ended, a dialog offers to sign in again and the page keeps what was typed', async () => {
  const email = 'ended@example.com';
  const page = await newPage();
  await signIn(page, email);
  const { access_token: token } = await loginByMail(service.url, email);
  await page.getByRole('button', { name: 'Edit profile' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Typed in vain');
  await request(service.url, 'POST', '/revoke', { token });
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: "You're signed out" });
  await dialog.getByRole('button', { name: 'Stay on this page' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.locator('button:focus', { hasText: 'Save' }).waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Typed in vain');
  await page.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('link', { name: 'Sign in again' }).click();
  await page.waitForURL(`${service.url}/login?next=%2Faccount`);
  await signIn(page, email);
  await page.goBack();
  await page.goForward();
  await page.getByRole('heading', { name: 'Your account', exact: true }).waitFor();
});

test('going back to the account page after signing out in another tab does not show it', async () => {
  const page = await newPage();
  await signIn(page, 'back@example.com');
  await page.goto(`${service.url}/docs`);
  const other = await page.context().newPage();
  await other.goto(`${service.url}/account`);
  await other.locator('#sign-out').click();
  await other.waitForURL(/\/login/);
  await page.goBack();
  await page.waitForURL(/\/login/);
  expect(await page.getByText('back@example.com').count()).toBe(0);
});
