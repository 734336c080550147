// A page that shows one user, in a browser where another user has signed in since in another tab: the page must neither
// act on the other user's account nor show any of it. All actions: pages-disturbed.long.test.ts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, untilIdle } from '#support/browser.ts';
import { loginByMail, request } from '#support/http.ts';
import { service } from '#support/page-service.ts';
import {
  addAuthenticator,
  deleteAccount,
  giveSession,
  newAddress,
  pollDevice,
  pressed,
  signIn,
  signInByCode,
  startDevice,
} from '#support/people.ts';

const bearer = async (email: string) => (await loginByMail(service.url, email)).access_token;

/** Signs a user in in another tab of the same browser. */
async function signInBeside(page: Page, email: string): Promise<void> {
  const tab = await page.context().newPage();
  await signInByCode(tab, service.url, email);
  await tab.close();
}

/** Everything the API returns about an account, except when its sessions were last used. */
async function accountOf(token: string): Promise<unknown> {
  const lists = ['/me', '/passkeys', '/sessions', '/organizations', '/events?limit=100'];
  const answers = await Promise.all(lists.map((path) => request(service.url, 'GET', path, { token })));
  expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200));
  const text = JSON.stringify(answers.map(({ body }) => body));
  return text.replaceAll(/"last_used_at":"[^"]+"/g, '');
}

const otherUserDialog = (page: Page) =>
  page.getByRole('dialog', { name: "You're signed in to a different account" });

async function expectAndDismissDialog(page: Page, email: string): Promise<void> {
  await otherUserDialog(page).getByText(email).waitFor();
  await otherUserDialog(page).getByRole('button', { name: 'Stay on this page' }).click();
  await otherUserDialog(page).waitFor({ state: 'detached' });
}

test('a user who signs in between the click and the request loses nothing', async () => {
  const [shown, newer] = [newAddress(), newAddress()];
  const otherToken = await bearer(newer);
  const page = await newPage();
  await signIn(page, service.url, shown);
  await untilIdle(page);
  const before = await accountOf(otherToken);
  const requests: string[] = [];
  let after: unknown;
  await page.route('**/api/v1/auth/**', async (route) => {
    requests.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
    if (route.request().method() === 'DELETE') {
      await signInBeside(page, newer);
      after = await accountOf(otherToken);
    }
    await route.continue();
  });
  await deleteAccount(page, shown);
  await expectAndDismissDialog(page, newer);
  // The action is sent at once. Only after a refusal does the page ask who is signed in.
  expect(requests).toEqual(['DELETE /api/v1/auth/me', 'GET /api/v1/auth/me']);
  expect(after).not.toEqual(before);
  expect(await accountOf(otherToken)).toEqual(after);
});

test('a passkey created while another user signs in is not registered, and the browser discards it', async () => {
  const [shown, newer] = [newAddress(), newAddress()];
  const otherToken = await bearer(newer);
  const page = await newPage();
  await signIn(page, service.url, shown);
  const { credentials } = await addAuthenticator(page);
  let made = 0;
  await page.route('**/passkey/register', async (route) => {
    made = (await credentials()).length;
    await signInBeside(page, newer);
    await route.continue();
  });
  await pressed(page, 'Add a passkey');
  await expectAndDismissDialog(page, newer);
  expect(made).toBe(1);
  expect(await credentials()).toEqual([]);
  for (const token of [otherToken, await bearer(shown)])
    expect((await request(service.url, 'GET', '/passkeys', { token })).body.passkeys).toEqual([]);
});

test('a device that one user reviews is neither looked up, approved nor denied as another user', async () => {
  const device = await startDevice(service.url);
  const [looking, since] = [newAddress(), newAddress()];
  const page = await newPage();
  await giveSession(page, service.url, looking);
  await page.goto(`${service.url}/device`);
  await page.getByText(`Signed in as ${looking}`).waitFor();
  const review = await page.context().newPage();
  await review.goto(device.verification_uri_complete);
  await review.locator('#approve').waitFor();
  await signInBeside(page, since);
  await page.getByLabel('Code from your device').fill(device.user_code);
  await pressed(page, 'Continue');
  await expectAndDismissDialog(page, since);
  await page.getByRole('alert').getByText('Nothing was changed').waitFor();
  await pressed(review, 'Approve');
  await expectAndDismissDialog(review, since);
  await pressed(review, 'Deny');
  await otherUserDialog(review).getByText(since).waitFor();
  expect(await pollDevice(service.url, device)).toBe('authorization_pending');
  await otherUserDialog(review).getByRole('button', { name: 'Reload page' }).click();
  await review.getByText(`Signed in as ${since}`).waitFor();
});
