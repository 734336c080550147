// The sections of the account page while they load and when loading fails.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newPage, pauseClock, untilIdle } from '../support/browser.ts';
import { loginByMail, request } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { registerPasskey } from '../support/passkeys.ts';
import { pressed, signIn, signInByCode } from '../support/people.ts';

const lists = ['passkeys', 'sessions', 'keys', 'organizations', 'events'] as const;
const addressOf = (list: string) => new RegExp(`/auth/${list}(\\?|$)`);
const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const sectionNames = ['Passkeys', 'Sessions', 'API keys', 'Organizations', 'Activity'];

/** About five lines, since the number of entries is unknown until they load. */
const maxMovePixels = 120;
const wide = { width: 1280, height: 900 };
const narrow = { width: 390, height: 844 };

/** Collects the API requests of a page from now on. */
function requestsOf(page: Page): string[] {
  const requests: string[] = [];
  page.on('request', (sent) => {
    const { pathname } = new URL(sent.url());
    if (pathname.startsWith('/api/'))
      requests.push(`${sent.method()} ${pathname.replace('/api/v1/auth', '')}`);
  });
  return requests;
}

/** A signed-in page whose account has finished loading. */
async function signedIn(email: string): Promise<Page> {
  const page = await newPage();
  await signIn(page, service.url, email);
  await untilIdle(page);
  return page;
}

const focusedText = (page: Page) => page.evaluate(() => document.activeElement?.textContent);

test('without a session the account page sends one request and goes to the sign-in page', async () => {
  const page = await newPage();
  const requests: string[] = [];
  page.on('response', (answer) => {
    const isOfAccount = new URL(answer.frame().url()).pathname === '/account';
    if (isOfAccount && answer.url().includes('/api/')) requests.push(`${answer.status()} ${answer.url()}`);
  });
  await page.goto(`${service.url}/account`);
  await page.waitForURL(`${service.url}/login?next=%2Faccount`);
  expect(requests).toEqual([`401 ${service.url}/api/v1/auth/me`]);
});

test('each section has an address, also through the sign-in page, and the keyboard continues there', async () => {
  const page = await newPage({ viewport: narrow });
  await signIn(page, service.url, 'addresses@example.com');
  const isAtTop = (heading: string) =>
    page
      .getByRole('heading', { name: heading, level: 2 })
      .evaluate((one) => Math.abs(one.getBoundingClientRect().top) < innerHeight);
  for (const [address, heading] of [
    ['security', 'Security'],
    ['sessions', 'Sessions'],
    ['activity', 'Activity'],
  ] as const) {
    await page.goto(`${service.url}/docs`);
    await page.goto(`${service.url}/account#${address}`);
    await page.locator('h2:focus').getByText(heading).waitFor();
    expect([address, await isAtTop(heading)]).toEqual([address, true]);
    // The row of links is wider than the page.
    const marked = await page.locator('nav [aria-current]').boundingBox();
    expect(marked!.x + marked!.width).toBeLessThan(narrow.width);
  }
  await page.getByRole('navigation').getByRole('link', { name: 'API keys' }).click();
  await page.locator('h2:focus').getByText('API keys').waitFor();
  await page.goBack();
  await page.locator('h2:focus').getByText('Activity').waitFor();
  await page.context().clearCookies();
  await page.goto(`${service.url}/docs`);
  await page.goto(`${service.url}/account#sessions`);
  await page.waitForURL(`${service.url}/login?next=%2Faccount%23sessions`);
});

test('a section that fails to load shows its own error and retries alone, while the others keep working', async () => {
  const page = await signedIn('one-fails@example.com');
  await page.route(addressOf('passkeys'), (route) => route.abort());
  await page.reload();
  const passkeys = section(page, 'Passkeys');
  const alert = passkeys.getByRole('alert').getByText("Passkeys couldn't be loaded");
  await alert.waitFor();
  expect(await passkeys.getByText('No passkeys yet').count()).toBe(0);
  await page.locator('#sessions > li').getByText('This session').waitFor();
  await page.locator('#organizations > li').first().waitFor();
  await page.locator('#events > li').getByText('Account created').waitFor();
  await page.getByRole('button', { name: 'Edit profile' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Works all the same');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Profile saved.').waitFor();
  await untilIdle(page);
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(1);

  const requests = requestsOf(page);
  const again = passkeys.getByRole('button', { name: 'Try again' });
  await again.focus();
  await page.keyboard.press('Enter');
  await alert.waitFor();
  await page.locator('button:focus').getByText('Try again').waitFor();
  await page.unroute(addressOf('passkeys'));
  await again.click();
  await passkeys.getByRole('button', { name: 'Add a passkey' }).waitFor();
  expect(await focusedText(page)).toBe('Passkeys');
  expect(await passkeys.getByRole('alert').filter({ hasText: /./ }).count()).toBe(0);
  expect(requests.filter((one) => one === 'GET /passkeys').length).toBeGreaterThanOrEqual(2);
  expect(requests.filter((one) => !/passkey/.test(one))).toEqual([]);
});

test('signing out everywhere works even if every section fails to load', async () => {
  const email = 'no-list@example.com';
  const page = await signedIn(email);
  const { access_token: token } = await loginByMail(service.url, email);
  for (const list of lists) await page.route(addressOf(list), (route) => route.abort());
  await page.reload();
  for (const name of sectionNames)
    await section(page, name).getByRole('button', { name: 'Try again' }).waitFor();
  expect(await page.getByRole('button', { name: 'End other sessions' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByRole('button', { name: 'Yes, sign out everywhere' }).click();
  await page.waitForURL(`${service.url}/login`);
  expect((await request(service.url, 'GET', '/me', { token })).status).toBe(401);
});

test('while sessions are not loaded, the activity list calls no session ended', async () => {
  const page = await signedIn('unknown-sessions@example.com');
  await page.route(addressOf('sessions'), (route) => route.abort());
  await page.reload();
  await page.locator('#events > li').first().waitFor();
  expect(await page.locator('#events').innerText()).not.toContain('session');
  await page.unroute(addressOf('sessions'));
  await section(page, 'Sessions').getByRole('button', { name: 'Try again' }).click();
  await page.locator('#events').getByText('This session').first().waitFor();
});

test('slow loading is announced and shows placeholders, but only after a short delay', async () => {
  const page = await signedIn('slow@example.com');
  await page.clock.install();
  await pauseClock(page);
  const held = Promise.withResolvers<void>();
  for (const list of lists)
    await page.route(addressOf(list), (route) => held.promise.then(() => route.continue()));
  const profile = Promise.withResolvers<void>();
  await page.route(addressOf('me'), (route) => profile.promise.then(() => route.continue()));
  await page.reload();
  await page.locator('#loading').waitFor({ state: 'attached' });
  const said = () => page.locator('#loading').innerText();
  await page.clock.runFor(140);
  expect(await said()).toBe('');
  expect(await page.getByRole('heading').count()).toBe(0);
  await page.clock.runFor(100);
  await page.getByRole('status').getByText('Loading…').waitFor();
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  profile.resolve();

  await page.locator('#profile-email').getByText('slow@example.com').waitFor();
  for (const name of sectionNames) expect(await section(page, name).getAttribute('aria-busy')).toBe('true');
  expect(await page.locator('#loading').getAttribute('role')).toBe('status');
  await page.clock.runFor(260);
  expect(await said()).toBe('Loading…');
  const blank = page.locator('.placeholder').first();
  expect(await blank.evaluate((element) => getComputedStyle(element).animationDelay)).toBe('0.15s');
  expect(await page.getByText('None').count()).toBe(0);
  held.resolve();
  await page.locator('#events > li').first().waitFor();
  await page.clock.runFor(1000);
  for (const name of sectionNames) await section(page, name).and(page.locator('[aria-busy=false]')).waitFor();
  expect(await said()).toBe('');
  expect(await page.locator('.placeholder').count()).toBe(0);
});

test('the navigation marks the section that was scrolled to', async () => {
  const page = await signedIn('marks@example.com');
  await page.locator('#events > li').first().waitFor();
  const marked = page.getByRole('navigation').locator('[aria-current]');
  expect(await marked.allInnerTexts()).toEqual(['Profile']);
  await page.mouse.wheel(0, 100_000);
  await marked.getByText('Danger zone').waitFor();
  expect(await marked.count()).toBe(1);
});

test.each([0, 1])('content below %d passkeys hardly moves when they load', async (count) => {
  const email = `still-${count}@example.com`;
  const page = await signedIn(email);
  const { access_token: token } = await loginByMail(service.url, email);
  for (let n = 0; n < count; n++) await registerPasskey(service.url, token);
  for (const viewport of [wide, narrow]) {
    const held = Promise.withResolvers<void>();
    await page.route(addressOf('passkeys'), (route) => held.promise.then(() => route.continue()));
    await page.setViewportSize(viewport);
    await page.reload();
    await page.locator('#sessions > li').first().waitFor();
    const sessions = page.getByRole('heading', { name: 'Sessions' });
    const before = await sessions.boundingBox();
    held.resolve();
    await page.locator('#add-passkey').waitFor();
    const after = await sessions.boundingBox();
    expect(Math.abs(after!.y - before!.y)).toBeLessThan(maxMovePixels);
    await page.unrouteAll();
  }
});

test('the passkey offer after an email sign-in does not wait for other sections, and its button does not move when they load', async () => {
  const page = await newPage();
  const held = Promise.withResolvers<void>();
  await page.route(addressOf('sessions'), (route) => held.promise.then(() => route.continue()));
  await signInByCode(page, service.url, 'offered@example.com');
  await page.getByText('Skip the email next time').waitFor();
  const button = await page.locator('#add-passkey').elementHandle();
  held.resolve();
  await page.locator('#sessions > li').waitFor();
  expect(await button?.evaluate((element) => element.isConnected)).toBe(true);
});

test('when the profile fails to load nothing else is requested, and trying again moves the focus to the heading', async () => {
  const page = await signedIn('no-profile@example.com');
  await page.route(addressOf('me'), (route) => route.abort());
  const requests = requestsOf(page);
  await page.reload();
  await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
  expect(requests).toEqual(['GET /me']);
  await page.unroute(addressOf('me'));
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('#events > li').first().waitFor();
  expect(await focusedText(page)).toBe('Your account');
});

test('a session that ends between loading the profile and the lists is reported once, in a dialog, and again after an action', async () => {
  const page = await signedIn('cut@example.com');
  await page.route(addressOf('me'), async (route) => {
    const answer = await route.fetch({
      headers: { ...(await route.request().allHeaders()), 'Sec-Fetch-Site': 'same-origin' },
    });
    await page.context().clearCookies();
    await route.fulfill({ response: answer });
  });
  const stayed = Promise.withResolvers<void>();
  await page.route(addressOf('passkeys'), async (route) => {
    await stayed.promise;
    await route.continue();
  });
  await page.reload();
  const dialog = page.getByRole('dialog', { name: "You're signed out" });
  const stay = dialog.getByRole('button', { name: 'Stay on this page' });
  await stay.click();
  await dialog.waitFor({ state: 'detached' });
  stayed.resolve();
  await section(page, 'Passkeys').getByRole('alert').getByText("You're signed out").waitFor();
  expect(await dialog.count()).toBe(0);
  await pressed(page, 'Edit profile');
  await page.getByLabel('Name', { exact: true }).fill('Ann');
  await pressed(page, 'Save');
  await stay.waitFor();
});
