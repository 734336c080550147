// The pages behind emailed links, when people reload, go back, click twice, use two tabs or lose the connection. What the
// page of a sign-in link asks and says: packages/dashboard/src/magic-link/link.test.ts. The link of an email change:
// pages-keyboard.test.ts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { goOffline, newPage } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { mailAbout } from '#support/http.ts';
import {
  alerted,
  button,
  changesBy,
  headed,
  linkTo,
  newAddress,
  phone,
  pressed,
  pressedEarly,
  requestEmail,
  signInLink,
  titled,
} from '#support/people.ts';

/** The page's text without the follow-up that needs the token and is missing after a reload. */
const textOf = (page: Page): Promise<string | null> =>
  page.locator('main').evaluate((main) => {
    const copy = main.cloneNode(true) as Element;
    copy.querySelector('#approver')?.remove();
    return copy.textContent;
  });

test('the page of a notice needs no sign-in: one click ends the session of the device, another one that of its approver; declining drops the token, a reload or a lost connection does not', async () => {
  const page = await newPage(phone);
  const changes = changesBy(page.context());
  const email = newAddress();
  const own = await service.login(email);
  const device = await service.deviceLogin(own, { device_name: 'strange laptop' });
  const statuses = () =>
    Promise.all(
      [device, own].map(
        async ({ access_token: token }) => (await service.ask('GET', '/me', { token })).status,
      ),
    );
  const link = await linkTo(service.url, email, 'A new device signed in');
  await page.goto(link);
  await button(page, 'This was me').dblclick();
  await titled(page, 'Nothing was changed');
  expect(page.url()).toBe(`${service.url}/not-me`);
  await page.reload();
  await titled(page, 'Nothing was changed');
  expect(changes).toEqual([]);

  // In the same tab, only the fragment changes.
  await page.goto(link);
  await titled(page, 'Was this you?');
  await page.reload();
  await titled(page, 'Was this you?');
  await goOffline(page);
  await pressed(page, "This wasn't me");
  await alerted(page, "Couldn't reach Latchkey");
  expect(page.url()).toBe(link);
  await page.context().setOffline(false);
  await page.reload();
  const other = await page.context().newPage();
  await other.goto(link);
  await titled(other, 'Was this you?');
  changes.length = 0;
  await button(page, "This wasn't me").dblclick();
  const done = () => titled(page, 'Thanks for letting us know');
  await done();
  expect([page.url(), await statuses()]).toEqual([`${service.url}/not-me`, [401, 200]]);
  expect(await page.locator('#undone').innerText()).toContain('strange laptop');
  await headed(page, 'Who approved the device?');
  const text = await textOf(page);
  await page.reload();
  await done();
  expect(await textOf(page)).toBe(text);
  await page.getByText('open the link in the email again').waitFor();
  expect(await button(page, 'Undo everything since then').count()).toBe(0);
  await page.goto(`${service.url}/login`);
  await page.goBack();
  await done();
  expect(changes).toEqual(['POST /notices/disown']);

  await pressed(other, "This wasn't me");
  await titled(other, 'Thanks for letting us know');
  await pressed(other, 'Undo everything since then');
  await other.getByText('Everything since the session that approved the device began').waitFor();
  expect(await statuses()).toEqual([401, 401]);
  expect(await other.locator('#undone').innerText()).toContain('1 browser session ended');
  await other.reload();
  await titled(other, 'Thanks for letting us know');
  expect(await other.locator('#approver').count()).toBe(0);
  await mailAbout(service.url, email, 'What was undone in your Latchkey account');
});

test('a sign-in link keeps its token through a reload, signs in once, says so afterwards, and offers a new link when it is opened again; going back shows no token', async () => {
  const email = newAddress();
  const page = await newPage(phone);
  const changes = changesBy(page.context());
  await requestEmail(page, service.url, email, '/login?next=%2Fdevice');
  const link = await signInLink(service.url, email);
  // Another request of this browser, which leads elsewhere.
  await requestEmail(await page.context().newPage(), service.url, email, '/login?next=%2Faccount');
  await page.goto(link);
  await page.reload();
  // The next page never loads, and the user reloads.
  await page.route('**/device', (route) => route.fulfill({ status: 204 }));
  changes.length = 0;
  await pressedEarly(page, `Sign in as ${email}`);
  await button(page, `Sign in as ${email}`).dblclick();
  await page.getByText('Signed in.').waitFor();
  await page.reload();
  await titled(page, "You've already used this link");
  expect(page.url()).toBe(`${service.url}/magic-link`);
  await page.unroute('**/device');
  await page.getByRole('link', { name: 'Continue' }).click();
  await titled(page, 'Device sign-in');
  await page.goto(link);
  await titled(page, 'This link no longer works');
  expect(changes).toEqual(['POST /magic_link/verify']);
  await page.getByRole('link', { name: 'Request a new link' }).click();
  await page.waitForURL(/\/login\?next=/);

  await requestEmail(page, service.url, email);
  await page.goto(await signInLink(service.url, email, 2));
  await pressed(page, `Sign in as ${email}`);
  await page.waitForURL(`${service.url}/account`);
  await page.goBack();
  await page.waitForURL(/\/login/);
});

test('a page ignores a link without a complete token, and an outcome that another release stored', async () => {
  const page = await newPage(phone);
  for (const fragment of ['#token=', '#token=lk_dc_some', '']) {
    await page.goto('about:blank');
    await page.goto(`${service.url}/not-me${fragment}`);
    await titled(page, 'This link is incomplete');
  }
  const outcome = { at: 'done', value: { kind: 'other', email: null } };
  for (const state of [outcome, { outcome, build: `${service.url}/assets/earlier.js` }, 'done']) {
    await page.evaluate((left) => history.replaceState(left, ''), state);
    await page.reload();
    await titled(page, 'This link is incomplete');
  }
});
