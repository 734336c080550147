// Signing in to programs in the browser: who is asked what, and where the answer goes.

import { beforeAll, beforeEach, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { commandLineRequest, requestOf, verifier } from '#support/authorize.ts';
import { newPage } from '#support/browser.ts';
import {
  alerted,
  button,
  changesBy,
  confirmed,
  giveSession,
  headed,
  newAddress,
  phone,
  pressedEarly,
  signedIn,
  signInHere,
} from '#support/people.ts';
import { authorizePath, startProgram } from '#support/program.ts';
import { changeStore, registerService, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const program = shared(async () => startProgram());
const service = shared(() => startService({ env: { LATCHKEY_CLIENT_HOSTS: program.host } }));
/** Services with the redirect URI of the program: one that people approve, and one of the platform's own. */
let application: string;
let trusted: string;

async function register(name: string, ...options: string[]): Promise<string> {
  const key = await registerService(service, name, '--redirect', program.redirectUri, ...options);
  return key.split(':')[0]!;
}

beforeAll(async () => {
  application = await register('Grafana', '--sign-out-redirect', `${program.redirectUri}/bye`);
  trusted = await register('Dashboard', '--trusted');
});

beforeEach(() => {
  program.received.length = 0;
});

const open = (page: Page, request: Record<string, string>) =>
  page.goto(`${service.url}${authorizePath(request)}`);

const approve = (page: Page) => page.locator('#approve[aria-disabled=false]').click();

const ofCommandLine = (changed: object = {}) =>
  commandLineRequest({ redirect_uri: program.redirectUri, ...changed });
const of = (id: string, changed: object = {}) =>
  requestOf(id, { redirect_uri: program.redirectUri, ...changed });

async function signedInPage(email = newAddress()): Promise<Page> {
  const page = await newPage(phone);
  await signedIn(page, service.url, email);
  return page;
}

test('the command line gets its code in a form, and the address bar never shows it; coming back, it cannot be approved again', async () => {
  const page = await signedInPage();
  const addresses: string[] = [];
  page.on('framenavigated', (frame) => addresses.push(frame.url()));
  await open(page, ofCommandLine());
  await headed(page, 'Let Latchkey CLI use your Latchkey account?');
  await page.getByText('Any program on this computer could claim to be Latchkey CLI').waitFor();
  expect(await page.locator('#device-name').innerText()).toContain('den');
  const response = program.next();
  await approve(page);
  expect(await response).toMatchObject({
    method: 'POST',
    search: '',
    origin: 'null',
    fields: { code: expect.stringMatching(/^lk_ac_/), state: 'a state', iss: service.url },
  });
  await headed(page, 'You can close this tab');
  expect(addresses.join()).not.toContain('lk_ac_');
  await page.goBack();
  await headed(page, 'Approved');
  expect(program.received).toHaveLength(1);

  await open(page, ofCommandLine({ state: 'another' }));
  const denial = program.next();
  await button(page, 'Deny').click();
  expect((await denial).fields).toMatchObject({ error: 'access_denied', state: 'another' });
});

test('a client that redirects the form to another origin, which the page does not follow, has the code, and the page says so', async () => {
  const posted: string[] = [];
  const client = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      posted.push(await request.text());
      return Response.redirect(program.redirectUri, 303);
    },
  });
  const redirect_uri = `http://127.0.0.1:${client.port}/callback`;
  const id = await register('Wiki', '--redirect', redirect_uri);
  const page = await signedInPage();
  await open(page, requestOf(id, { redirect_uri, response_mode: 'form_post' }));
  await approve(page);
  await headed(page, 'Approved');
  expect(posted.join()).toStartWith('code=lk_ac_');
  await client.stop(true);
});

test('a program that listens on the loopback address of IPv6 gets its code in a form', async () => {
  const onIpv6 = startProgram({ address: '::1' });
  const id = await register('Notebook', '--redirect', onIpv6.redirectUri);
  const page = await signedInPage();
  await open(page, requestOf(id, { redirect_uri: onIpv6.redirectUri, response_mode: 'form_post' }));
  const response = onIpv6.next();
  await approve(page);
  expect((await response).fields).toMatchObject({ code: expect.stringMatching(/^lk_ac_/) });
  await onIpv6.stop();
});

test('a request that the service could not look at can be tried again on the page', async () => {
  const page = await signedInPage();
  const rename = (from: string, to: string) => changeStore(service, `ALTER TABLE ${from} RENAME TO ${to}`);
  rename('service_keys', 'out_of_reach');
  expect((await open(page, of(application)))?.status()).toBe(500);
  await page.getByText('Something went wrong').waitFor();
  rename('out_of_reach', 'service_keys');
  await button(page, 'Try again').click();
  await headed(page, 'Let Grafana use your Latchkey account?');
});

test('the request survives signing in, and the address that the program suggests is filled in, but not submitted by a key that is held since the page before', async () => {
  const email = newAddress();
  const page = await newPage(phone);
  // Escaped twice, it is longer than any request may be.
  const state = 'ä/?&= '.padEnd(2_048, '😀');
  await page.keyboard.down('Enter');
  await open(page, of(application, { login_hint: email, state }));
  await page.getByText('A program is waiting for you to sign in').waitFor();
  expect(await page.getByLabel('Email address').inputValue()).toBe(email);
  // A key that is still held repeats.
  await page.keyboard.down('Enter');
  await signInHere(page, service.url, email);
  await headed(page, 'Let Grafana use your Latchkey account?');
  await page.getByText(`Signed in as ${email}`).waitFor();
  expect(await page.locator('#redirect-host').innerText()).toBe('A program on this computer');
  const response = program.next();
  await approve(page);
  const { method, search } = await response;
  const query = new URLSearchParams(search);
  expect([method, query.get('state'), query.get('iss')]).toEqual(['GET', state, service.url]);
  expect(query.get('code')).toMatch(/^lk_ac_/);
});

test('a trusted application gets its code without a question, unless it wants the account to be chosen; prompt=login shows the sign-in, however recent the last one is, and then continues; if the browser forgets the request, one more sign-in counts', async () => {
  const email = newAddress();
  const page = await signedInPage(email);
  const changes = changesBy(page.context());
  const response = program.next();
  await open(page, of(trusted));
  expect((await response).search).toContain('code=lk_ac_');
  await headed(page, 'You can close this tab');
  expect(changes).toEqual(['POST /authorize/verify', 'POST /authorize/approve']);
  await open(page, of(trusted, { prompt: 'select_account' }));
  await headed(page, 'Let Dashboard use your Latchkey account?');
  await page.getByRole('link', { name: 'Use a different account' }).waitFor();
  expect(program.received).toHaveLength(1);

  await open(page, of(trusted, { prompt: 'login' }));
  await page.waitForURL(/\/login\?next=.*prompt=login$/);
  const next = program.next();
  await signInHere(page, service.url, email, 2);
  expect((await next).search).toContain('code=lk_ac_');
  await headed(page, 'You can close this tab');

  // Another tab answers the same request, so that the browser forgets that it came: one more sign-in counts.
  const asking = of(application, { prompt: 'login' });
  await open(page, asking);
  await signInHere(page, service.url, email, 3);
  await headed(page, 'Let Grafana use your Latchkey account?');
  const tab = await page.context().newPage();
  await open(tab, asking);
  await button(tab, 'Deny').click();
  await headed(tab, 'You can close this tab');
  await approve(page);
  await signInHere(page, service.url, email, 4);
  await headed(page, 'Let Grafana use your Latchkey account?');
  const approved = program.next();
  await approve(page);
  expect((await approved).search).toContain('code=lk_ac_');
});

test('an error goes to a service by itself, but at a click to the command line, to an external client, and if it says that another person is signed in than the one whom the client expects', async () => {
  const page = await signedInPage();
  const response = program.next();
  await open(page, of(application, { scope: 'nobody:declared', response_mode: 'form_post' }));
  expect((await response).fields).toMatchObject({ error: 'invalid_scope' });
  const errorAtClick = async (request: Record<string, string>, says: string) => {
    const before = program.received.length;
    await open(page, request);
    await headed(page, "This request can't be approved");
    await page.getByText(says).waitFor();
    await pressedEarly(page, 'Go back to the program');
    expect(program.received).toHaveLength(before);
    const clicked = program.next();
    await button(page, 'Go back to the program').click();
    const { search, fields } = await clicked;
    return fields['error'] ?? new URLSearchParams(search).get('error');
  };
  const scope = 'nobody:declared';
  expect(await errorAtClick(ofCommandLine({ scope }), 'Latchkey CLI requested something')).toBe(
    'invalid_scope',
  );
  const external = of(program.clientId, { scope });
  expect(await errorAtClick(external, `${program.host} requested something`)).toBe('invalid_scope');
  const redirect = `${program.redirectUri}?error=login_required`;
  const json = { error: 'login_required', error_description: '.', request_id: 'r', redirect };
  await page.route('**/authorize/verify', (route) =>
    route.fulfill({ status: 400, headers: { 'X-Request-Id': 'r' }, json }),
  );
  expect(await errorAtClick(of(application), 'Grafana expects')).toBe('login_required');
  await open(page, of(application));
  await page.getByRole('link', { name: 'Use a different account' }).click();
  await page.waitForURL(/\/login\?next=.*prompt=login$/);
});

test('an external client is named by its host, and its own name stands in quotes', async () => {
  const page = await signedInPage();
  await open(page, of(program.clientId));
  await headed(page, `Let ${program.host} use your Latchkey account?`);
  expect(await page.locator('#client-name q').innerText()).toBe('Notebook');
  await page.getByText('Text in quotes is self-reported').waitFor();
});

test('the account page names the session of a registered application as the administrator does, without quotes; its sign-out signs out no one else', async () => {
  const id = await register('Whiteboard', '--public');
  const page = await signedInPage();
  const response = program.next();
  await open(page, of(id, { scope: 'openid' }));
  await approve(page);
  const code = new URLSearchParams((await response).search).get('code') ?? '';
  const sent = { code, code_verifier: verifier, client_id: id, redirect_uri: program.redirectUri };
  const body = new URLSearchParams({ grant_type: 'authorization_code', ...sent });
  const redeemed = await fetch(`${service.url}/api/v1/auth/token`, { method: 'POST', body });
  const { id_token } = (await redeemed.json()) as { id_token: string };
  await page.waitForURL(`${program.redirectUri}?**`);
  await page.goto(`${service.url}/account`);
  const item = page.locator('#sessions > li', { hasText: 'Whiteboard' });
  await item.waitFor();
  expect(await item.locator('.title q').count()).toBe(0);
  await confirmed(item, 'End session');
  await page.locator('#sessions-done').getByText('Session ended').waitFor();
  expect(await item.count()).toBe(0);
  await page.locator('#events > li', { hasText: 'Ended session: Whiteboard' }).first().waitFor();

  await page.context().clearCookies();
  await page.goto(`${service.url}/api/v1/auth/end_session?id_token_hint=${id_token}`);
  await headed(page, 'Sign out of Latchkey?');
  await giveSession(page, service.url, newAddress());
  await button(page, 'Sign out').and(page.locator('[aria-disabled=false]')).click();
  await alerted(page, 'this browser is now signed in to a different account');
});

test('an application that sends people to sign out gets them back after they confirmed, and not before; the page signs out only whom it names, and says so', async () => {
  const email = newAddress();
  const page = await signedInPage(email);
  const changes = changesBy(page.context());
  const redirect = `${program.redirectUri}/bye`;
  const query = { client_id: application, post_logout_redirect_uri: redirect, state: 's' };
  const path = `/api/v1/auth/end_session?${new URLSearchParams(query)}`;
  const ask = async () => {
    await page.goto(`${service.url}${path}`);
    await headed(page, 'Sign out of Latchkey?');
    await page.getByText(`Signed in as ${email}`).waitFor();
    // Without an identity token, the application's own session stays.
    await page.getByText("You'll be signed out of this browser.", { exact: true }).waitFor();
  };
  await ask();
  const other = newAddress();
  await giveSession(page, service.url, other);
  await button(page, 'Sign out').and(page.locator('[aria-disabled=false]')).click();
  await alerted(page, 'this browser is now signed in to a different account');
  await page.reload();
  await page.getByText(`Signed in as ${other}`).waitFor();
  await giveSession(page, service.url, email);
  changes.length = 0;
  await ask();
  await pressedEarly(page, 'Sign out');
  expect(changes).toEqual([]);
  // After an early click, the second of two is meant.
  const signOutWhen = (isReady: boolean) =>
    button(page, 'Sign out').and(page.locator(`[aria-disabled=${!isReady}]`));
  await page.evaluate(() => window.dispatchEvent(new Event('blur')));
  await signOutWhen(false).dispatchEvent('click', { detail: 1 });
  await signOutWhen(true).dispatchEvent('click', { detail: 2 });
  await page.waitForURL(`${redirect}?state=s`);
  await page.goto(`${service.url}/account`);
  await page.waitForURL(/\/login/);
  // No one is signed in, and no identity token names a session: there is nothing to confirm.
  await page.goto(`${service.url}${path}`);
  await headed(page, "You're signed out");
  await page.getByRole('link', { name: 'Continue' }).click();
  await page.waitForURL(`${redirect}?state=s`);
});
