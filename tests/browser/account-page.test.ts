// Looking after one's account on its page, in a real browser against the real service.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { newPage } from '../support/browser.ts';
import { denyDevice, loginByMail, mailTo, request } from '../support/http.ts';
import { runOperator, startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});

afterAll(async () => {
  await service.stop();
});

const codeIn = ({ text }: { text: string }) => /^[A-Z]{4}-[A-Z]{4}$/m.exec(text)?.[0] ?? '';
const linkIn = ({ text }: { text: string }) => /^http\S+#token=\S+$/m.exec(text)?.[0] ?? '';

async function signIn(page: Page, email: string, seen = 0): Promise<void> {
  await page.goto(`${service.url}/login`);
  await page.getByLabel('Mail address').fill(email);
  await page.getByRole('button', { name: 'Send me a mail' }).click();
  await page.getByLabel('Code from the mail').fill(codeIn(await mailTo(service.url, email, seen)));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${service.url}/account`);
  await page.getByRole('heading', { name: 'Your account', exact: true }).waitFor();
}

/** Makes all logins of the service an hour older, as if the person had gone away for so long. */
function letLoginsAge(): void {
  const store = new Database(join(service.directory, 'latchkey.db'));
  store.run('PRAGMA busy_timeout = 5000');
  store.run('UPDATE sessions SET created_at = created_at - 3600000');
  store.close();
}

const confirmation = (page: Page) => page.getByRole('dialog', { name: 'Confirm it is you' });

async function confirmByCode(page: Page, email: string, seen: number): Promise<void> {
  const dialog = confirmation(page);
  await dialog.getByRole('button', { name: 'Send me a mail with a code' }).click();
  await dialog.getByLabel('Code from the mail').fill(codeIn(await mailTo(service.url, email, seen)));
  await dialog.getByLabel('Code from the mail').press('Enter');
  await dialog.waitFor({ state: 'detached' });
}

const profileOf = async (token: string) => (await request(service.url, 'GET', '/me', { token })).body;
const rows = (page: Page) => page.locator('#events > li');

test('a profile is edited; what cannot be used is told at its field, and nothing typed is lost', async () => {
  const page = await newPage();
  await signIn(page, 'profile@example.com');
  await page.getByRole('button', { name: 'Edit the profile' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
  await page.getByLabel('Language').fill('de-CH');
  await page.getByLabel('Time zone').fill('Nowhere/Town');
  await page.getByLabel('Picture').fill('https://pictures.example/ada.png');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('That is not the name of a time zone').waitFor();
  const zone = page.getByLabel('Time zone');
  expect(await zone.evaluate((input) => input === document.activeElement)).toBe(true);
  expect(await zone.getAttribute('aria-invalid')).toBe('true');
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Ada Lovelace');
  await page.context().setOffline(true);
  await zone.fill('Europe/Zurich');
  await zone.press('Enter');
  await page.getByRole('alert').getByText('what you typed is still here').waitFor();
  await page.context().setOffline(false);
  await zone.press('Enter');
  await page.getByText('Your profile is saved.').waitFor();
  await page.reload();
  expect(await page.locator('#profile-name').innerText()).toBe('Ada Lovelace');
  expect(await page.locator('#profile-locale').innerText()).toBe('de-CH');
  expect(await page.locator('#profile-time_zone').innerText()).toBe('Europe/Zurich');
  expect(await page.locator('#profile-avatar_url').innerText()).toBe('https://pictures.example/ada.png');

  await page.getByRole('button', { name: 'Edit the profile' }).click();
  await page.getByLabel('Language').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your profile is saved.').waitFor();
  expect(await page.locator('#profile-locale').innerText()).toBe('not given');
  await rows(page)
    .getByText(/^The profile was changed: .*language/)
    .waitFor();
});

test('a profile that was changed elsewhere is not overwritten unasked, and what was typed stays', async () => {
  const page = await newPage();
  await signIn(page, 'two-places@example.com');
  const { access_token: token } = await loginByMail(service.url, 'two-places@example.com');
  await page.getByRole('button', { name: 'Edit the profile' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Typed here');
  const json = { name: 'Stored elsewhere', locale: 'fr' };
  await request(service.url, 'PATCH', '/me', { token, json });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('changed somewhere else in the meantime').waitFor();
  await page.getByText('Stored now: Stored elsewhere').waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Typed here');
  expect(await page.getByLabel('Language').inputValue()).toBe('fr');
  expect((await profileOf(token)).name).toBe('Stored elsewhere');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your profile is saved.').waitFor();
  expect(await profileOf(token)).toMatchObject({ name: 'Typed here', locale: 'fr' });
});

test('a save whose answer got lost is done once, and the next try says that it is saved', async () => {
  const page = await newPage();
  await signIn(page, 'lost@example.com');
  await page.getByRole('button', { name: 'Edit the profile' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Stored all the same');
  const lose = async (route: Route) => {
    if (route.request().method() !== 'PATCH') return route.fallback();
    await route.fetch();
    return route.abort();
  };
  await page.route('**/auth/me', lose);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('could not be reached').waitFor();
  await page.unroute('**/auth/me', lose);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your profile is saved.').waitFor();
  expect(await page.locator('#profile-name').innerText()).toBe('Stored all the same');
});

test('organizations are shown with the role, and the rest of many on demand', async () => {
  const email = 'member@example.com';
  const page = await newPage();
  await signIn(page, email);
  const create = ['organizations', 'create', '--slug', 'acme', '--name', 'Acme \u202Eevil'];
  expect((await runOperator(service.env, ...create)).code).toBe(0);
  const add = ['organizations', 'add-member', '--slug', 'acme', '--email', email, '--role', 'admin'];
  expect((await runOperator(service.env, ...add)).code).toBe(0);
  // The pages of the service hold more than a test can make: here each holds one.
  await page.route('**/auth/organizations?*', (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set('limit', '1');
    return route.continue({ url: url.href });
  });
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
  expect(texts.find((text) => text.includes('personal'))).toContain('Owner');
});

test('the security log tells in words what happened, newest first, and more of it on demand', async () => {
  const email = 'log@example.com';
  const page = await newPage();
  await signIn(page, email);
  const { access_token: token } = await loginByMail(service.url, email);
  for (let n = 0; n < 12; n++) await denyDevice(service.url, token, { 'User-Agent': '<b>"ok"</b>' });
  await page.reload();
  await rows(page).first().waitFor();
  expect(await rows(page).count()).toBe(10);
  expect(await rows(page).first().innerText()).toMatch(
    /^The login of a terminal was denied\n[\s\S]*in another login/,
  );
  expect(await rows(page).first().locator('q.claimed').isVisible()).toBe(false);
  await rows(page).first().locator('summary').press('Enter');
  expect(await rows(page).first().locator('q.claimed').innerText()).toContain("<b>'ok'</b>");
  await page.locator('#more-events').dblclick();
  await rows(page).getByText('The account was made').waitFor();
  const texts = await rows(page).allInnerTexts();
  expect(texts).toHaveLength(15);
  expect(texts.at(-1)).toContain('The account was made');
  expect(texts.at(-2)).toContain('Signed in by a code in a mail');
  expect(texts.at(-2)).toContain('in this login');
  expect(await page.locator('#more-events').count()).toBe(0);
  // What is done on the page appears on top, and nothing that was shown goes away.
  await page.locator('#logins > li').filter({ hasNotText: 'this one' }).getByRole('button').click();
  await page.getByText('That login has been signed out.').waitFor();
  await rows(page).getByText('A login was signed out from another one').waitFor();
  expect(await rows(page).count()).toBe(16);
  expect(await rows(page).first().innerText()).toContain('A login was signed out from another one');
});

test('all other logins are signed out, also those that the page did not show yet; this one stays', async () => {
  const email = 'others@example.com';
  const page = await newPage();
  await signIn(page, email);
  const first = await loginByMail(service.url, email);
  await page.reload();
  await page.locator('#logins > li').nth(1).waitFor();
  const later = await loginByMail(service.url, email);
  await page.getByRole('button', { name: 'Sign out all others' }).dblclick();
  await page.getByText('Only this one is left').waitFor();
  expect(await page.locator('#logins > li').count()).toBe(1);
  expect(await page.getByRole('button', { name: 'Sign out all others' }).count()).toBe(0);
  for (const { access_token: token } of [first, later]) {
    expect((await request(service.url, 'GET', '/me', { token })).status).toBe(401);
  }
  await page.reload();
  await page.getByText('this one').waitFor();
});

test('a login that is not recent is confirmed in place by a code, keeps what was typed, and is then done', async () => {
  const email = 'stale@example.com';
  const page = await newPage();
  await signIn(page, email);
  letLoginsAge();
  await page.getByRole('button', { name: 'Change the address' }).click();
  await page.getByLabel('New mail address').fill('fresh@example.com');
  await page.getByRole('button', { name: 'Send a link there' }).dblclick();
  await confirmation(page).waitFor();
  // Whoever cancels keeps what was typed and is told that nothing was done.
  await page.keyboard.press('Escape');
  await page.getByRole('alert').getByText('Nothing was changed').waitFor();
  expect(await page.getByLabel('New mail address').inputValue()).toBe('fresh@example.com');
  await page.getByRole('button', { name: 'Send a link there' }).click();
  await confirmation(page).getByRole('button', { name: 'Send me a mail with a code' }).click();
  await confirmation(page).getByLabel('Code from the mail').fill('BBBB-BBBB');
  await confirmation(page).getByRole('button', { name: 'Confirm', exact: true }).click();
  await confirmation(page).getByRole('alert').getByText('That code did not work').waitFor();
  await confirmation(page)
    .getByLabel('Code from the mail')
    .fill(codeIn(await mailTo(service.url, email, 1)));
  await confirmation(page).getByLabel('Code from the mail').press('Enter');
  await page.getByText('We sent a mail to fresh@example.com').waitFor();
  expect(page.url()).toBe(`${service.url}/account`);
  // The fresh login took the place of the old one.
  await rows(page).getByText('took the place of the one before').waitFor();
  expect(await page.locator('#logins > li').count()).toBe(1);
  await page.locator('#logins').getByText('this one').waitFor();
});

test('the link of the mail, opened in the same browser, confirms what waits in the other tab', async () => {
  const email = 'by-link@example.com';
  const page = await newPage();
  await signIn(page, email);
  letLoginsAge();
  await page.getByRole('button', { name: 'Delete my account' }).click();
  await page.getByRole('button', { name: 'Yes, delete it for good' }).click();
  await confirmation(page).getByRole('button', { name: 'Send me a mail with a code' }).click();
  const link = linkIn(await mailTo(service.url, email, 1));
  const tab = await page.context().newPage();
  await tab.goto(link);
  await tab.getByRole('button', { name: `Sign in as ${email}` }).click();
  await page.waitForURL(/\/login$/);
});

test('a device is approved after a confirmation in place, with the code still shown to compare', async () => {
  const email = 'approver@example.com';
  const page = await newPage();
  await signIn(page, email);
  letLoginsAge();
  const { body } = await request(service.url, 'POST', '/device');
  await page.goto(body.verification_uri_complete);
  await page.getByRole('button', { name: 'Approve' }).click();
  await confirmByCode(page, email, 1);
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
});

test('a confirmation as somebody else does nothing in their account', async () => {
  const page = await newPage();
  await signIn(page, 'mine@example.com');
  letLoginsAge();
  const other = await loginByMail(service.url, 'theirs@example.com');
  await page.getByRole('button', { name: 'Delete my account' }).click();
  await page.getByRole('button', { name: 'Yes, delete it for good' }).click();
  await confirmation(page).getByRole('button', { name: 'Send me a mail with a code' }).click();
  const { body } = await request(service.url, 'POST', '/magic_link', {
    json: { email: 'theirs@example.com' },
  });
  const code = codeIn(await mailTo(service.url, 'theirs@example.com', 1));
  await page.route('**/magic_link/verify?*', (route) =>
    route.continue({ postData: JSON.stringify({ request: body.request, code }) }),
  );
  await confirmation(page).getByLabel('Code from the mail').fill(code);
  await confirmation(page).getByLabel('Code from the mail').press('Enter');
  await page.locator('#profile-email').getByText('theirs@example.com').waitFor();
  expect((await profileOf(other.access_token)).email).toBe('theirs@example.com');
});

test('a login that ended in the meantime is told over the page, which keeps what was typed, and leads back', async () => {
  const email = 'ended@example.com';
  const page = await newPage();
  await signIn(page, email);
  const { access_token: token } = await loginByMail(service.url, email);
  await page.getByRole('button', { name: 'Edit the profile' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Typed in vain');
  await request(service.url, 'POST', '/revoke', { token });
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: 'You are signed out' });
  await dialog.getByRole('button', { name: 'Look at this page first' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Typed in vain');
  await page.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('link', { name: 'Sign in again' }).click();
  await page.waitForURL(`${service.url}/login?next=%2Faccount`);
  await signIn(page, email, 2);
  await page.goBack();
  await page.goForward();
  await page.getByRole('heading', { name: 'Your account', exact: true }).waitFor();
});
