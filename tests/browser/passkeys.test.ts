// Passkeys on the pages, in a real browser with a virtual authenticator against the real service.

import { expect, test } from 'bun:test';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { CDPSession, Page } from 'playwright-core';
import { createAuthenticator } from '../support/authenticator.ts';
import { newPage } from '../support/browser.ts';
import { codeIn, mailTo } from '../support/http.ts';
import { service } from '../support/page-service.ts';
import { addAuthenticator, newAddress } from '../support/people.ts';
import { until } from '../support/until.ts';

const emailButton = 'Email me a link';
const passkeyButton = 'Sign in with a passkey';

interface Device {
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly authenticatorId: string;
  credentials(): Promise<{ credentialId: string; userName?: string }[]>;
  /** Whether the user passes verification. */
  verifies(isUserVerified: boolean): Promise<void>;
  /** Whether the user responds at all. */
  answers(enabled: boolean): Promise<void>;
}

/** A browser with a platform authenticator, or with a security key that cannot verify the user. */
async function newDevice({ autofill = false, screenLock = true } = {}): Promise<Device> {
  const page = await newPage();
  if (!autofill) {
    await page.addInitScript(() => {
      PublicKeyCredential.isConditionalMediationAvailable = async () => false;
    });
  }
  await page.addInitScript(() => {
    const signals: unknown[] = [];
    Object.assign(window, { signals });
    for (const name of [
      'signalUnknownCredential',
      'signalAllAcceptedCredentials',
      'signalCurrentUserDetails',
    ] as const) {
      const original = PublicKeyCredential[name].bind(PublicKeyCredential) as (sent: object) => Promise<void>;
      PublicKeyCredential[name] = (sent: object) => {
        signals.push({ signal: name, ...sent });
        return original(sent);
      };
    }
  });
  const { cdp, authenticatorId } = await addAuthenticator(page, { canVerify: screenLock });
  return {
    page,
    cdp,
    authenticatorId,
    credentials: async () =>
      (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials as {
        credentialId: string;
      }[],
    verifies: async (isUserVerified) => {
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    },
    answers: async (enabled) => {
      await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
    },
  };
}

type Signal = {
  signal: string;
  rpId: string;
  credentialId?: string;
  allAcceptedCredentialIds?: string[];
};

const signalsOf = (page: Page) =>
  page.evaluate(() => (window as unknown as { signals: unknown[] }).signals) as Promise<Signal[]>;

/** Waits until the page has sent the browser's password managers a signal. */
async function waitForSignal(
  page: Page,
  name: string,
  matches: (sent: Signal) => boolean = () => true,
): Promise<Signal> {
  let found: Signal | undefined;
  let sent: Signal[] = [];
  await until(
    async () => {
      sent = await signalsOf(page);
      found = sent.findLast((one) => one.signal === name && matches(one));
      return found !== undefined;
    },
    () => `${name} among ${JSON.stringify(sent)}`,
  );
  return found!;
}

async function signInByMail(page: Page, email: string, path = '/login'): Promise<void> {
  await page.goto(`${service.url}${path}`);
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: emailButton }).click();
  await page.getByRole('heading', { name: 'Check your email' }).waitFor();
  const { text } = await mailTo(service.url, email);
  await page.getByLabel('Code from the email').fill(codeIn({ text }));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${service.url}/account`);
  await page.getByRole('heading', { name: 'Passkeys' }).waitFor();
}

async function signUpWithPasskey(device: Device, email: string): Promise<void> {
  await signInByMail(device.page, email);
  await device.page.getByRole('button', { name: 'Add a passkey' }).click();
  await device.page.getByText('Passkey added').waitFor();
}

async function signOut(page: Page): Promise<void> {
  await page.locator('#sign-out').click();
  await page.waitForURL(`${service.url}/login`);
}

/** An error body in the format of the service. */
const refusal = (error: string) => ({ error, error_description: '.', request_id: 'r' });

const items = (page: Page) => page.locator('#passkeys > li');

test('after an email sign-in a passkey is offered, added, signaled to the browser, and signs in', async () => {
  const device = await newDevice();
  const { page } = device;
  const ways = async () => (await page.locator('main button').allInnerTexts()).map((text) => text.trim());
  await page.goto(`${service.url}/login`);
  await page.getByRole('button', { name: passkeyButton }).waitFor();
  expect(await ways()).toEqual([emailButton, passkeyButton]);
  await signInByMail(page, 'button@example.com');
  await page.getByText('Skip the email next time').waitFor();
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('Passkey added').waitFor();
  expect(await items(page).count()).toBe(1);
  expect(await page.getByText('Skip the email next time').count()).toBe(0);
  expect(
    (
      await waitForSignal(
        page,
        'signalAllAcceptedCredentials',
        (sent) => sent.allAcceptedCredentialIds?.length === 1,
      )
    ).rpId,
  ).toBe('localhost');
  await waitForSignal(page, 'signalCurrentUserDetails');
  expect((await device.credentials()).length).toBe(1);

  await signOut(page);
  await page.getByRole('button', { name: passkeyButton }).waitFor();
  expect(await ways()).toEqual([passkeyButton, emailButton]);
  await page.getByRole('button', { name: passkeyButton }).click();
  await page.waitForURL(`${service.url}/account`);
  await page.getByText('Signed in with a passkey').first().waitFor();
  expect(await items(page).innerText()).toContain('Last used');
  expect(await page.getByText('Skip the email next time').count()).toBe(0);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).toBe(
    '{"latchkey.passkey":"1"}',
  );
});

test('passkey autofill signs in without a click and continues to the right page', async () => {
  const device = await newDevice({ autofill: true });
  const { page } = device;
  await signUpWithPasskey(device, 'autofill@example.com');
  // The sign-in page may be there for a moment only.
  await page.locator('#sign-out').click();
  await page.waitForURL(`${service.url}/account`);
  await page.getByText('Signed in with a passkey').first().waitFor();
  await page.context().clearCookies();
  await page.goto(`${service.url}/device`);
  await page.getByRole('heading', { name: 'Device sign-in' }).waitFor();
});

test('the passkey button takes over from a pending autofill request', async () => {
  const device = await newDevice({ autofill: true });
  const { page } = device;
  await signUpWithPasskey(device, 'takeover@example.com');
  await device.answers(false);
  await page.addInitScript(() => {
    const get = navigator.credentials.get.bind(navigator.credentials);
    navigator.credentials.get = (options) => {
      if (options?.mediation === 'conditional') Object.assign(window, { offersPasskeys: true });
      return get(options);
    };
  });
  await signOut(page);
  await page.waitForFunction(() => 'offersPasskeys' in window);
  expect(await page.getByLabel('Email address').getAttribute('autocomplete')).toBe('username webauthn');
  await device.answers(true);
  expect(page.url()).toBe(`${service.url}/login`);
  await page.getByRole('button', { name: passkeyButton }).click();
  await page.waitForURL(`${service.url}/account`);
});

test('a passkey is renamed and removed by keyboard, and the browser is told that it is gone', async () => {
  const device = await newDevice();
  const { page } = device;
  await signUpWithPasskey(device, 'rename@example.com');
  await page.getByRole('button', { name: 'Rename' }).press('Enter');
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

  await page.getByRole('button', { name: 'Remove' }).press('Enter');
  await page.getByRole('button', { name: 'Cancel' }).press('Enter');
  expect(await items(page).count()).toBe(1);
  // Before the next frame, or a key that follows at once would miss its button.
  const focused = await page.getByRole('button', { name: 'Remove' }).evaluate(async (button: HTMLElement) => {
    button.click();
    for (let microtasks = 0; microtasks < 10; microtasks++) await null;
    return document.activeElement?.className;
  });
  expect(focused).toBe('warning');
  await page.getByRole('button', { name: 'Remove passkey' }).press('Enter');
  await page.getByText('Passkey removed: Blue laptop.').waitFor();
  expect(await items(page).count()).toBe(0);
  await waitForSignal(
    page,
    'signalAllAcceptedCredentials',
    (sent) => sent.allAcceptedCredentialIds?.length === 0,
  );
  expect(await device.credentials()).toEqual([]);
});

test('the browser is told about a passkey that the service no longer knows, but about no other failure', async () => {
  const device = await newDevice();
  const { page } = device;
  await signUpWithPasskey(device, 'unknown@example.com');
  // Removed without this page knowing, as if from another browser.
  await page.evaluate(async () => {
    const { passkeys } = await (await fetch('/api/v1/auth/passkeys')).json();
    await fetch(`/api/v1/auth/passkeys/${passkeys[0].id}`, { method: 'DELETE' });
  });
  await signOut(page);

  await page.route('**/passkey/login?*', (route) =>
    route.fulfill({ status: 400, json: refusal('invalid_grant') }),
  );
  await page.getByRole('button', { name: passkeyButton }).click();
  await page.getByText("That passkey didn't work.").waitFor();
  expect((await signalsOf(page)).map(({ signal }) => signal)).not.toContain('signalUnknownCredential');
  await page.unroute('**/passkey/login?*');

  await page.getByRole('button', { name: passkeyButton }).click();
  await page.getByText('no longer registered').waitFor();
  expect((await waitForSignal(page, 'signalUnknownCredential')).rpId).toBe('localhost');
  expect(await device.credentials()).toEqual([]);
});

test.each([
  'whose toJSON throws, with a padded id and no rawId',
  'without buffers, whose toJSON writes padded base64 and no rawId',
])('a passkey of a password manager %s is added and signs in', async (manager) => {
  const device = await newDevice();
  const { page } = device;
  await page.addInitScript((hasBuffers) => {
    const padded = (text: string) =>
      text
        .replaceAll('-', '+')
        .replaceAll('_', '/')
        .padEnd(Math.ceil(text.length / 4) * 4, '=');
    const imitated = (real: PublicKeyCredential) => {
      const { id, type } = real;
      if (hasBuffers)
        return {
          id: padded(id),
          type,
          response: real.response,
          toJSON: () => {
            throw new TypeError('Illegal invocation');
          },
        };
      const { rawId: _, ...json } = JSON.parse(JSON.stringify(real)) as {
        rawId: string;
        response: Record<string, unknown>;
      };
      const response = Object.fromEntries(
        Object.entries(json.response).map(([name, value]) => [
          name,
          typeof value === 'string' ? padded(value) : value,
        ]),
      );
      return { id, type, response: {}, toJSON: () => ({ ...json, id: padded(id), response }) };
    };
    for (const name of ['create', 'get'] as const) {
      const original = navigator.credentials[name].bind(navigator.credentials);
      navigator.credentials[name] = async (options: object) =>
        imitated((await original(options)) as PublicKeyCredential) as unknown as Credential;
    }
  }, manager.startsWith('whose'));
  await signUpWithPasskey(device, newAddress());
  await signOut(page);
  await page.getByRole('button', { name: passkeyButton }).click();
  await page.waitForURL(`${service.url}/account`);
  await page.getByText('Signed in with a passkey').first().waitFor();
});

test('adding a second passkey on a device explains itself, and a cancelled sign-in can be repeated', async () => {
  const device = await newDevice();
  const { page } = device;
  await signUpWithPasskey(device, 'already@example.com');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('alert').getByText('already has a passkey for this account').waitFor();
  expect(await items(page).count()).toBe(1);

  await signOut(page);
  await device.verifies(false);
  await page.getByRole('button', { name: passkeyButton }).click();
  await page.getByRole('alert').getByText('The passkey request was cancelled').waitFor();
  // Each attempt uses a new challenge.
  await device.verifies(true);
  await page.getByRole('button', { name: passkeyButton }).click();
  await page.waitForURL(`${service.url}/account`);
});

test('a browser without passkey support, or a page at an IP address, offers only email, and a device without an authenticator says so', async () => {
  const old = await newPage();
  await old.addInitScript(() => {
    Reflect.deleteProperty(window, 'PublicKeyCredential');
  });
  await old.goto(`${service.url}/login`);
  await old.getByRole('button', { name: 'Email me a link' }).waitFor();
  expect(await old.getByRole('button', { name: passkeyButton }).count()).toBe(0);
  await signInByMail(old, 'old@example.com');
  await old.getByText("This browser doesn't support passkeys.").waitFor();

  const { page: unnamed } = await newDevice();
  await unnamed.goto(`${service.url.replace('localhost', '127.0.0.1')}/login`);
  await unnamed.getByRole('button', { name: emailButton }).waitFor();
  expect(await unnamed.getByRole('button', { name: passkeyButton }).count()).toBe(0);

  const { page } = await newDevice({ screenLock: false });
  await signInByMail(page, 'bare@example.com');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('alert').getByText('This device has no screen lock').waitFor();
});

test('adding a passkey without a recent sign-in asks to confirm with a passkey and then continues', async () => {
  const device = await newDevice();
  const { page } = device;
  await signUpWithPasskey(device, 'confirm@example.com');
  const refused = { status: 401, json: refusal('insufficient_user_authentication') };
  await page.route('**/passkey/register/challenge', (route) => route.fulfill(refused), { times: 1 });
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  const dialog = page.getByRole('dialog', { name: "Confirm it's you" });
  await dialog.getByRole('button', { name: 'Use a passkey' }).click();
  await dialog.waitFor({ state: 'detached' });
  // The action ran again: this device already has a passkey.
  await page.getByRole('alert').getByText('already has a passkey for this account').waitFor();
  expect(page.url()).toBe(`${service.url}/account`);
  await page.getByText('Signed in with a passkey').first().waitFor();
});

test('the browser discards a passkey that the service refused to register', async () => {
  const device = await newDevice();
  const { page } = device;
  await signInByMail(page, 'refused@example.com');
  const add = async (error: string, status: number, message: string) => {
    await page.route('**/passkey/register', (route) => route.fulfill({ status, json: refusal(error) }), {
      times: 1,
    });
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('alert').getByText(message).waitFor();
    expect(await device.credentials()).toEqual([]);
  };
  await add('conflict', 409, "It's already registered");
  // A session that has ended cannot list the passkeys of its account.
  await page.route('**/auth/passkeys', (route) =>
    route.fulfill({ status: 401, json: refusal('invalid_token') }),
  );
  await add('invalid_grant', 400, "couldn't be added");
});

test('at the passkey limit adding one says so, and the browser keeps no orphaned passkey', async () => {
  const device = await newDevice();
  const { page } = device;
  await signInByMail(page, 'full@example.com');
  // Added without this page knowing, as if from other devices.
  const authenticator = createAuthenticator({ origin: service.url });
  const post = (path: string, body?: unknown) =>
    page.evaluate(
      async ([url, json]) => {
        const headers = { 'Content-Type': 'application/json' };
        return (await fetch(url, { method: 'POST', headers, body: json })).json();
      },
      [`/api/v1/auth/passkey/${path}`, JSON.stringify(body ?? {})] as const,
    );
  for (let n = 0; n < fieldLimits.passkeys; n++) {
    await post('register', authenticator.create(await post('register/challenge')));
  }
  const tooMany = page.getByRole('alert').getByText(`the limit of ${fieldLimits.passkeys} passkeys`);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await tooMany.waitFor();
  expect(await items(page).count()).toBe(fieldLimits.passkeys);
  expect(await device.credentials()).toEqual([]);

  // Now that the page knows, it does not even ask the browser.
  await page.reload();
  await page.evaluate(() => {
    navigator.credentials.create = () => Promise.reject(new Error('asked'));
  });
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await tooMany.waitFor();
});

test('a passkey whose authenticator does not say what it is has the name of the browser and system', async () => {
  const device = await newDevice();
  const { page } = device;
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
  await signUpWithPasskey(device, 'unnamed@example.com');
  expect(await items(page).locator('.title').innerText()).toMatch(/^Chrome on Linux /);
});

test('after an email sign-in no passkey is created until the user asks for one', async () => {
  const device = await newDevice();
  const { page } = device;
  await page.addInitScript(() => {
    PublicKeyCredential.getClientCapabilities = async () => ({ conditionalCreate: true });
    const create = navigator.credentials.create.bind(navigator.credentials);
    navigator.credentials.create = (options) => {
      const { signals } = window as unknown as { signals: unknown[] };
      signals.push({ signal: 'create' });
      return create(options);
    };
  });
  await signInByMail(page, 'unasked@example.com');
  await page.getByText('Skip the email next time').waitFor();
  await waitForSignal(
    page,
    'signalAllAcceptedCredentials',
    (sent) => sent.allAcceptedCredentialIds?.length === 0,
  );
  expect((await signalsOf(page)).map(({ signal }) => signal)).not.toContain('create');
});

test('removing a passkey shows no progress on the button that adds one', async () => {
  const device = await newDevice();
  const { page } = device;
  await signUpWithPasskey(device, 'progress@example.com');
  await page.route('**/auth/passkeys/*', () => {});
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('button', { name: 'Remove passkey' }).click();
  await page.locator('#add-passkey:disabled').waitFor();
  expect(await page.locator('#add-passkey').innerText()).toBe('Add a passkey');
});
