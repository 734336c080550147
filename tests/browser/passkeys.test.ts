// Passkeys on the pages, in a real browser with a virtual authenticator against the real service.

import { expect, test } from 'bun:test';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Page } from 'playwright-core';
import { newPasskey } from '#support/account.ts';
import { newPage } from '#support/browser.ts';
import { service } from '#support/common-service.ts';
import {
  addAuthenticator,
  alerted,
  button,
  headed,
  newAddress,
  pressed,
  refuse,
  signInByCode,
} from '#support/people.ts';
import { until } from '#support/until.ts';

const emailButton = 'Email me a link';
const passkeyButton = 'Sign in with a passkey';

/** What a page told the browser's password managers or, as `create`, asked of them. */
interface Signal {
  readonly signal: string;
  readonly rpId?: string;
  readonly allAcceptedCredentialIds?: string[];
}

/** A browser with a platform authenticator, or with a security key that cannot verify the user. */
async function newDevice({ autofill = false, screenLock = true } = {}) {
  const page = await newPage();
  await page.addInitScript((offersAutofill) => {
    if (!offersAutofill) PublicKeyCredential.isConditionalMediationAvailable = async () => false;
    PublicKeyCredential.getClientCapabilities = async () => ({ conditionalCreate: true });
    const signals: unknown[] = [];
    Object.assign(window, { signals });
    const watch = (target: object, name: string) => {
      const original = Reflect.get(target, name).bind(target);
      Reflect.set(target, name, (sent: object) => {
        signals.push({ signal: name, ...sent });
        return original(sent);
      });
    };
    for (const name of ['UnknownCredential', 'AllAcceptedCredentials', 'CurrentUserDetails'])
      watch(PublicKeyCredential, `signal${name}`);
    watch(navigator.credentials, 'create');
  }, autofill);
  return { page, ...(await addAuthenticator(page, { canVerify: screenLock })) };
}

const signalsOf = (page: Page): Promise<Signal[]> =>
  page.evaluate(() => (window as unknown as { signals: Signal[] }).signals);
const namesOf = async (page: Page) => (await signalsOf(page)).map(({ signal }) => signal);

/** Waits until the page has sent the browser's password managers a signal, for the service. @param count how many passkeys it names */
async function signaled(page: Page, name: string, count?: number): Promise<void> {
  let sent: Signal[] = [];
  await until(
    async () => {
      sent = await signalsOf(page);
      return sent.some(
        ({ signal, allAcceptedCredentialIds: ids }) =>
          signal === name && (count === undefined || ids?.length === count),
      );
    },
    () => `${name} among ${JSON.stringify(sent)}`,
  );
  for (const { rpId } of sent.filter(({ signal }) => signal === name)) expect(rpId).toBe('localhost');
}

async function signUpWithPasskey(page: Page): Promise<void> {
  await signInByCode(page, service.url, newAddress());
  await pressed(page, 'Add a passkey');
  await page.getByText('Passkey added').waitFor();
}

async function signOut(page: Page): Promise<void> {
  await page.locator('#sign-out').click();
  await page.waitForURL(`${service.url}/login`);
}

const items = (page: Page) => page.locator('#passkeys > li');
const atAccount = (page: Page) => page.waitForURL(`${service.url}/account`);
const signedInWithPasskey = (page: Page) => page.getByText('Signed in with a passkey').first().waitFor();

test('after an email sign-in a passkey is offered, created only when the user asks for it, signaled to the browser, and signs in', async () => {
  const { page, credentials } = await newDevice();
  const ways = async () => (await page.locator('main button').allInnerTexts()).map((text) => text.trim());
  const offer = page.getByText('Skip the email next time');
  await page.goto(`${service.url}/login`);
  await button(page, passkeyButton).waitFor();
  expect(await ways()).toEqual([emailButton, passkeyButton]);
  await signInByCode(page, service.url, newAddress());
  await offer.waitFor();
  await signaled(page, 'signalAllAcceptedCredentials', 0);
  expect([await namesOf(page), await credentials()]).toEqual([expect.not.arrayContaining(['create']), []]);
  await pressed(page, 'Add a passkey');
  await page.getByText('Passkey added').waitFor();
  expect([await items(page).count(), await offer.count()]).toEqual([1, 0]);
  await signaled(page, 'signalAllAcceptedCredentials', 1);
  expect(await namesOf(page)).toContain('signalCurrentUserDetails');
  expect(await credentials()).toHaveLength(1);

  await signOut(page);
  await button(page, passkeyButton).waitFor();
  expect(await ways()).toEqual([passkeyButton, emailButton]);
  await pressed(page, passkeyButton);
  await atAccount(page);
  await signedInWithPasskey(page);
  expect(await items(page).innerText()).toContain('Last used');
  expect(await offer.count()).toBe(0);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).toBe(
    '{"latchkey.passkey":"1"}',
  );
});

test('passkey autofill signs in without a click and continues to the right page, and the passkey button takes over from a pending request of it', async () => {
  const { page, answers } = await newDevice({ autofill: true });
  await signUpWithPasskey(page);
  // The sign-in page may be there for a moment only.
  await page.locator('#sign-out').click();
  await atAccount(page);
  await signedInWithPasskey(page);
  await page.context().clearCookies();
  await page.goto(`${service.url}/device`);
  await headed(page, 'Device sign-in');

  await answers(false);
  await page.addInitScript(() => {
    const get = navigator.credentials.get.bind(navigator.credentials);
    navigator.credentials.get = (options) => {
      if (options?.mediation === 'conditional') Object.assign(window, { offersPasskeys: true });
      return get(options);
    };
  });
  await page.goto(`${service.url}/account`);
  await signOut(page);
  await page.waitForFunction(() => 'offersPasskeys' in window);
  expect(await page.getByLabel('Email address').getAttribute('autocomplete')).toBe('username webauthn');
  await answers(true);
  expect(page.url()).toBe(`${service.url}/login`);
  await pressed(page, passkeyButton);
  await atAccount(page);
});

test('a passkey of an unknown authenticator is named after browser and system, renamed and removed by keyboard, without progress on the Add button, and the browser learns that it is gone', async () => {
  const { page, credentials } = await newDevice();
  await page.addInitScript(() => {
    const create = navigator.credentials.create.bind(navigator.credentials);
    navigator.credentials.create = async (options) => {
      const credential = (await create(options)) as PublicKeyCredential;
      const response = credential.response as AuthenticatorAttestationResponse;
      // The authenticator data begins at byte 30 where there is no attestation, the AAGUID in it at byte 37.
      const value = new Uint8Array(response.attestationObject.slice(0)).fill(0, 67, 83).buffer;
      Object.defineProperty(response, 'attestationObject', { value });
      return credential;
    };
  });
  await signUpWithPasskey(page);
  expect(await items(page).locator('.title').innerText()).toMatch(/^Chrome on Linux /);
  await button(page, 'Rename').press('Enter');
  const field = page.getByLabel('New name');
  expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
  await field.fill('');
  await field.press('Enter');
  await page.getByText('Enter a name.').waitFor();
  await field.fill('Blue laptop');
  await field.press('Enter');
  await page.getByText('Passkey renamed to Blue laptop.').waitFor();
  await page.reload();
  await items(page).getByText('Blue laptop').waitFor();

  await button(page, 'Remove').press('Enter');
  await button(page, 'Cancel').press('Enter');
  expect(await items(page).count()).toBe(1);
  // Before the next frame, or a key that follows at once would miss its button.
  const focused = await button(page, 'Remove').evaluate(async (remove: HTMLElement) => {
    remove.click();
    for (let microtasks = 0; microtasks < 10; microtasks++) await null;
    return document.activeElement?.className;
  });
  expect(focused).toBe('warning');
  const { promise: seen, resolve } = Promise.withResolvers<void>();
  await page.route('**/auth/passkeys/*', (route) => seen.then(() => route.continue()));
  await button(page, 'Remove passkey').press('Enter');
  await page.locator('#add-passkey:disabled').getByText('Add a passkey').waitFor();
  resolve();
  await page.getByText('Passkey removed: Blue laptop.').waitFor();
  expect(await items(page).count()).toBe(0);
  await signaled(page, 'signalAllAcceptedCredentials', 0);
  expect(await credentials()).toEqual([]);
});

test('the browser is told about a passkey that the service no longer knows, but about no other failure', async () => {
  const { page, credentials } = await newDevice();
  await signUpWithPasskey(page);
  // Removed without this page knowing, as if from another browser.
  await page.evaluate(async () => {
    const { passkeys } = await (await fetch('/api/v1/auth/passkeys')).json();
    await fetch(`/api/v1/auth/passkeys/${passkeys[0].id}`, { method: 'DELETE' });
  });
  await signOut(page);
  await refuse(page, 'passkey/login?*', [400, 'invalid_grant'], { times: 1 });
  await pressed(page, passkeyButton);
  await page.getByText("That passkey didn't work.").waitFor();
  expect(await namesOf(page)).not.toContain('signalUnknownCredential');
  await pressed(page, passkeyButton);
  await page.getByText('no longer registered').waitFor();
  await signaled(page, 'signalUnknownCredential');
  expect(await credentials()).toEqual([]);
});

test('adding a second passkey on a device explains itself, after a confirmation with the first if the sign-in is not recent, and a cancelled sign-in can be repeated', async () => {
  const { page, verifies } = await newDevice();
  await signUpWithPasskey(page);
  await refuse(page, 'passkey/register/challenge', [401, 'insufficient_user_authentication'], { times: 1 });
  await pressed(page, 'Add a passkey');
  await pressed(page, 'Use a passkey');
  await alerted(page, 'already has a passkey for this account');
  expect(page.url()).toBe(`${service.url}/account`);
  await signedInWithPasskey(page);
  expect(await items(page).count()).toBe(1);

  await signOut(page);
  await verifies(false);
  await pressed(page, passkeyButton);
  await alerted(page, 'The passkey request was cancelled');
  // Each attempt uses a new challenge.
  await verifies(true);
  await pressed(page, passkeyButton);
  await atAccount(page);
});

test('a browser without passkey support, or a page at an IP address, offers only email, and a device without an authenticator says so', async () => {
  const old = await newPage();
  await old.addInitScript(() => Reflect.deleteProperty(window, 'PublicKeyCredential'));
  const { page: unnamed } = await newDevice();
  for (const [page, url] of [
    [old, service.url],
    [unnamed, service.url.replace('localhost', '127.0.0.1')],
  ] as const) {
    await page.goto(`${url}/login`);
    await button(page, emailButton).waitFor();
    expect(await button(page, passkeyButton).count()).toBe(0);
  }
  await signInByCode(old, service.url, newAddress());
  await old.getByText("This browser doesn't support passkeys.").waitFor();

  const { page } = await newDevice({ screenLock: false });
  await signInByCode(page, service.url, newAddress());
  await pressed(page, 'Add a passkey');
  await alerted(page, 'This device has no screen lock');
});

test('the browser keeps no passkey that the service itself refused to register, not even at the limit, at which the page does not ask it once it knows', async () => {
  const { page, credentials } = await newDevice();
  const email = newAddress();
  await signInByCode(page, service.url, email);
  const add = async (message: string) => {
    await pressed(page, 'Add a passkey');
    await alerted(page, message);
    expect(await credentials()).toEqual([]);
  };
  // A proxy's own answer says nothing of what came of the request.
  await page.route('**/passkey/register', (route) => route.fulfill({ status: 408 }), { times: 1 });
  await pressed(page, 'Add a passkey');
  await page.locator('#passkeys-error > span').waitFor();
  expect(await credentials()).toHaveLength(1);
  await refuse(page, 'passkey/register', [409, 'conflict'], { times: 1 });
  await add("It's already registered");
  // A session that has ended cannot list the passkeys of its account.
  await refuse(page, 'passkeys', [401, 'invalid_token']);
  await refuse(page, 'passkey/register', [400, 'invalid_grant'], { times: 1 });
  await add("couldn't be added");

  await page.unrouteAll();
  // Added without this page knowing, as if from other devices.
  const { access_token } = await service.login(email);
  for (let n = 0; n < fieldLimits.passkeys; n++) await newPasskey(service, { access_token });
  const tooMany = `the limit of ${fieldLimits.passkeys} passkeys`;
  await add(tooMany);
  expect(await items(page).count()).toBe(fieldLimits.passkeys);
  await page.reload();
  await add(tooMany);
  expect(await namesOf(page)).not.toContain('create');
});
