// The sections of the account page while they load and when loading fails.

import { expect, test } from 'bun:test';
import type { APIResponse, Page, Route } from 'playwright-core';
import { newPasskey } from '#support/account.ts';
import { newPage, pauseClock, untilIdle } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import { confirmByCode, confirmed, pressed, requestsOf, signIn, signInByCode } from '#support/people.ts';
import { changeStore } from '#support/service.ts';

const lists = ['passkeys', 'sessions', 'keys', 'organizations', 'events'] as const;
const addressOf = (list: string) => new RegExp(`/auth/${list}(\\?|$)`);
const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const sectionNames = ['Passkeys', 'Sessions', 'API keys', 'Organizations', 'Activity'];
const retry = (page: Page, name: string) => section(page, name).getByRole('button', { name: 'Try again' });
const focusedText = (page: Page) => page.evaluate(() => document.activeElement?.textContent);

/** About five lines, since the number of entries is unknown until they load. */
const maxMovePixels = 120;
const wide = { width: 1280, height: 900 };
const narrow = { width: 390, height: 844 };

/** Lets the responses to some requests of a page wait until the returned function is called. */
async function held(page: Page, ...paths: string[]): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const path of paths)
    await page.route(addressOf(path), (route) => promise.then(() => route.continue()));
  return resolve;
}

/** Gets the response to an intercepted request, which the service answers as one of its own pages. */
const fetched = async (route: Route): Promise<APIResponse> =>
  route.fetch({ headers: { ...(await route.request().allHeaders()), 'Sec-Fetch-Site': 'same-origin' } });

/** Lets the next response to a request of a page, once `read` by the service, wait until `release` is called. */
async function late(page: Page, path: string): Promise<{ read: Promise<void>; release: () => void }> {
  const [read, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const answer = async (route: Route) => {
    const response = await fetched(route);
    read.resolve();
    await released.promise;
    await route.fulfill({ response });
  };
  await page.route(addressOf(path), answer, { times: 1 });
  return { read: read.promise, release: released.resolve };
}

/** A signed-in page whose account has finished loading. */
async function signedIn(email: string): Promise<Page> {
  const page = await newPage();
  await signIn(page, service.url, email);
  await untilIdle(page);
  return page;
}

test('each section has an address, also through the sign-in page, to which a browser without a session goes after one request; the keyboard continues there, and scrolling marks the section', async () => {
  const page = await newPage({ viewport: narrow });
  await signIn(page, service.url, 'addresses@example.com');
  const marked = page.getByRole('navigation').locator('[aria-current]');
  expect(await marked.allInnerTexts()).toEqual(['Profile']);
  await page.mouse.wheel(0, 100_000);
  await marked.getByText('Danger zone').waitFor();
  expect(await marked.count()).toBe(1);
  for (const [address, heading] of [
    ['security', 'Security'],
    ['sessions', 'Sessions'],
    ['activity', 'Activity'],
  ] as const) {
    await page.goto(`${service.url}/docs`);
    await page.goto(`${service.url}/account#${address}`);
    const focused = page.locator('h2:focus').getByText(heading);
    await focused.waitFor();
    const isInView = await focused.evaluate((one) => Math.abs(one.getBoundingClientRect().top) < innerHeight);
    expect([address, isInView]).toEqual([address, true]);
    // The row of links is wider than the page.
    const box = (await marked.boundingBox())!;
    expect(box.x + box.width).toBeLessThan(narrow.width);
  }
  // The row stays under a pointer that is pressed while the page still scrolls, and so marks another section.
  await page.getByRole('navigation').getByRole('link', { name: 'API keys' }).hover();
  await page.mouse.down();
  await page.evaluate(() => scrollBy(0, 1));
  await marked.getByText('Profile').waitFor();
  await page.mouse.up();
  await page.locator('h2:focus').getByText('API keys').waitFor();
  await page.goBack();
  await page.locator('h2:focus').getByText('Activity').waitFor();

  await page.context().clearCookies();
  await page.goto(`${service.url}/docs`);
  const requests = requestsOf(page);
  await page.goto(`${service.url}/account#sessions`);
  await page.waitForURL(`${service.url}/login?next=%2Faccount%23sessions`);
  expect(requests[0]).toBe('GET /me');
  expect(requests.filter((one) => one !== 'GET /me' && !one.includes('challenge'))).toEqual([]);
});

test('a profile or section that fails to load shows its own error and is tried again alone, with the focus at its heading; the rest keeps working, even signing out everywhere', async () => {
  const email = 'all-fail@example.com';
  const page = await signedIn(email);
  const { access_token: token } = await service.login(email);
  for (const list of [...lists, 'me']) await page.route(addressOf(list), (route) => route.abort());
  const requests = requestsOf(page);
  await page.reload();
  await page.getByRole('alert').getByText("Couldn't reach Latchkey").waitFor();
  expect(requests).toEqual(['GET /me']);
  await page.unroute(addressOf('me'));
  await pressed(page, 'Try again');
  for (const name of sectionNames) await retry(page, name).waitFor();
  expect(await focusedText(page)).toBe('Your account');
  expect(await page.getByRole('button', { name: 'End other sessions' }).count()).toBe(0);

  // The activity does not call a session ended that it does not know.
  await page.unroute(addressOf('events'));
  await retry(page, 'Activity').click();
  await page.locator('#events > li').first().waitFor();
  expect(await page.locator('#events').innerText()).not.toContain('session');
  await page.unroute(addressOf('sessions'));
  await retry(page, 'Sessions').click();
  await page.locator('#events').getByText('This session').first().waitFor();
  await untilIdle(page);

  requests.length = 0;
  const passkeys = section(page, 'Passkeys');
  await retry(page, 'Passkeys').focus();
  await page.keyboard.press('Enter');
  await passkeys.getByRole('alert').getByText("Passkeys couldn't be loaded").waitFor();
  await page.locator('button:focus').getByText('Try again').waitFor();
  expect(await passkeys.getByText('No passkeys yet').count()).toBe(0);
  await page.unroute(addressOf('passkeys'));
  await retry(page, 'Passkeys').click();
  await passkeys.getByRole('button', { name: 'Add a passkey' }).waitFor();
  expect(await focusedText(page)).toBe('Passkeys');
  expect(await passkeys.getByRole('alert').filter({ hasText: /./ }).count()).toBe(0);
  expect(requests.filter((one) => one === 'GET /passkeys').length).toBeGreaterThanOrEqual(2);
  expect(requests.filter((one) => !/passkey/.test(one))).toEqual([]);

  await pressed(page, 'Edit profile');
  await page.getByLabel('Name', { exact: true }).fill('Works all the same');
  await pressed(page, 'Save');
  await page.getByText('Profile saved.').waitFor();
  await pressed(page, 'Sign out everywhere');
  await pressed(page, 'Yes, sign out everywhere');
  await page.waitForURL(`${service.url}/login`);
  expect((await service.ask('GET', '/me', { token })).status).toBe(401);
});

test('slow loading is announced and shows placeholders, but only after a short delay', async () => {
  const page = await signedIn('slow@example.com');
  await page.clock.install();
  await pauseClock(page);
  const releaseLists = await held(page, ...lists);
  const releaseProfile = await held(page, 'me');
  await page.reload();
  await page.locator('#loading').waitFor({ state: 'attached' });
  const said = () => page.locator('#loading').innerText();
  await page.clock.runFor(140);
  expect(await said()).toBe('');
  expect(await page.getByRole('heading').count()).toBe(0);
  await page.clock.runFor(100);
  await page.getByRole('status').getByText('Loading…').waitFor();
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  releaseProfile();

  await page.locator('#profile-email').getByText('slow@example.com').waitFor();
  for (const name of sectionNames) expect(await section(page, name).getAttribute('aria-busy')).toBe('true');
  await page.clock.runFor(260);
  expect(await said()).toBe('Loading…');
  const blank = page.locator('.placeholder').first();
  expect(await blank.evaluate((element) => getComputedStyle(element).animationDelay)).toBe('0.15s');
  releaseLists();
  for (const name of sectionNames) await section(page, name).and(page.locator('[aria-busy=false]')).waitFor();
  expect(await said()).toBe('');
  expect(await page.locator('.placeholder').count()).toBe(0);
});

test.each([0, 1])('content below %d passkeys hardly moves when they load', async (count) => {
  const email = `still-${count}@example.com`;
  const page = await signedIn(email);
  const { access_token: token } = await service.login(email);
  for (let n = 0; n < count; n++) await newPasskey(service, { access_token: token });
  for (const viewport of [wide, narrow]) {
    const release = await held(page, 'passkeys');
    await page.setViewportSize(viewport);
    await page.reload();
    await page.locator('#sessions > li').first().waitFor();
    const sessions = page.getByRole('heading', { name: 'Sessions' });
    const before = await sessions.boundingBox();
    release();
    await page.locator('#add-passkey').waitFor();
    const after = await sessions.boundingBox();
    expect(Math.abs(after!.y - before!.y)).toBeLessThan(maxMovePixels);
    await page.unrouteAll();
  }
});

test('the passkey offer after an email sign-in does not wait for other sections, and its button does not move when they load', async () => {
  const page = await newPage();
  const release = await held(page, 'sessions');
  await signInByCode(page, service.url, 'offered@example.com');
  await page.getByText('Skip the email next time').waitFor();
  const button = await page.locator('#add-passkey').elementHandle();
  release();
  await page.locator('#sessions > li').waitFor();
  expect(await button?.evaluate((element) => element.isConnected)).toBe(true);
});

test('a session that ends between loading the profile and the lists is reported once, in a dialog, and again after an action, which keeps what was typed', async () => {
  const page = await signedIn('cut@example.com');
  await page.route(addressOf('me'), async (route) => {
    const response = await fetched(route);
    await page.context().clearCookies();
    await route.fulfill({ response });
  });
  const release = await held(page, 'passkeys');
  await page.reload();
  const dialog = page.getByRole('dialog', { name: "You're signed out" });
  await pressed(page, 'Stay on this page');
  await dialog.waitFor({ state: 'detached' });
  release();
  await section(page, 'Passkeys').getByRole('alert').getByText("You're signed out").waitFor();
  expect(await dialog.count()).toBe(0);
  await pressed(page, 'Edit profile');
  await page.getByLabel('Name', { exact: true }).fill('Ann');
  await pressed(page, 'Save');
  await pressed(page, 'Stay on this page');
  await page.locator('button:focus', { hasText: 'Save' }).waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Ann');
});

test('a response that is older than a change on the page neither hides nor undoes it: while the activity loads, when two changes follow each other, and after a confirmation', async () => {
  const email = 'older@example.com';
  for (let others = 0; others < 4; others++) await service.login(email);
  const page = await signedIn(email);
  const sessions = page.locator('#sessions > li');
  const ended = page.locator('#events > li', { hasText: 'Session ended from another session' });
  const end = async (left: number) => {
    await confirmed(page.locator('#sessions'), 'End session');
    await sessions.nth(left).waitFor({ state: 'detached' });
    await page.getByText('Session ended.').waitFor();
  };

  const loading = await late(page, 'events');
  await page.reload();
  await loading.read;
  await sessions.nth(4).waitFor();
  await end(4);
  loading.release();
  await ended.waitFor();

  const first = await late(page, 'events');
  await end(3);
  await first.read;
  await end(2);
  await ended.nth(2).waitFor();
  first.release();
  await untilIdle(page);
  expect(await ended.count()).toBe(3);

  changeStore(service, 'UPDATE sessions SET created_at = created_at - 3600000');
  await pressed(page, 'Change email');
  await page.getByLabel('New email address').fill('newer@example.com');
  const confirmation = await late(page, 'sessions');
  await pressed(page, 'Send confirmation link');
  await confirmByCode(page, service.url, email, 5);
  await page.getByText('We sent a link').waitFor();
  await confirmation.read;
  await end(1);
  confirmation.release();
  await untilIdle(page);
  expect(await sessions.count()).toBe(1);
});
