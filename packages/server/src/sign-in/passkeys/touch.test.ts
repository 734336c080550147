// What hands out tokens takes a passkey's proof of this very act, where the account has a passkey.

import { describe, expect, test } from 'bun:test';
import { addPasskey, newAuthenticator, outcome } from '#support/account.ts';
import { type Answer, onBothDatabases, openApp, type TestApp, type Tokens } from '#support/app.ts';
import { type AssertionForgery, flag, type RequestOptions } from '#support/authenticator.ts';
import { asBrowser, redeem, redirectUri, requestOf } from '#support/authorize.ts';
import { decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import { loggedEvents } from '#support/security-log.ts';
import { declareService } from '#support/services.ts';
import { generateKey } from '../../platform/crypto/primitives.ts';
import { writeFailedSignIns } from '../failures/failures.ts';

const settings = { LATCHKEY_APPROVAL: 'passkey', LATCHKEY_DEVICE_CODE_TTL: '86400' };

/** One of the things that a touch is for, prepared once and done with or without the response of a passkey. */
interface Act {
  offer(by: Tokens): Promise<Answer>;
  act(by: Tokens, passkey?: unknown): Promise<Answer>;
  /** Whether it was done, and what the event of the login or key says of the passkey. */
  outcome(answer: Answer): Promise<boolean>;
}

const post = (t: TestApp, by: Tokens, path: string, json: object) =>
  t.ask('POST', path, { token: by.access_token, json });

let keys = 0;

const acts: Record<string, (t: TestApp) => Promise<Act>> = {
  'approving a device': async (t) => {
    const codes = await startDevice(t, { device_name: 'den' });
    const { user_code } = codes;
    return {
      offer: (by) => decideDevice(t, 'verify', codes, by),
      act: (by, passkey) => post(t, by, '/device/approve', { user_code, passkey }),
      outcome: async () => {
        t.pass(5);
        return (await pollDevice(t, codes)).status === 200;
      },
    };
  },
  'approving an application': async (t) => {
    const { id, authorization } = await declareService(t.ctx, { redirectUris: [redirectUri] });
    const request = requestOf(id);
    return {
      offer: (by) => asBrowser(t, by, 'verify', request),
      act: (by, passkey) => asBrowser(t, by, 'approve', { ...request, scope: 'profile', passkey }),
      outcome: async ({ body }) => {
        const code = new URL(body.redirect ?? 'https://none.example').searchParams.get('code') ?? 'none';
        return (await redeem(t, code, {}, { headers: { Authorization: authorization } })).status === 200;
      },
    };
  },
  'creating a key': async (t) => {
    const key = { name: `Nightly build ${++keys}`, scope: 'profile', expires_in: 86_400 };
    return {
      offer: (by) => post(t, by, '/keys/challenge', key),
      act: (by, passkey) => post(t, by, '/keys', { ...key, passkey }),
      outcome: async ({ status }) => status === 201,
    };
  },
};

async function withPasskey(t: TestApp, tokens: Tokens) {
  const authenticator = newAuthenticator(t);
  return { authenticator, id: (await addPasskey(t, tokens, authenticator)).body.id };
}

/** A service, and somebody with a passkey. */
async function openWithPasskey() {
  const t = await openApp('sqlite', { settings });
  const ada = await t.login();
  return { t, ada, ...(await withPasskey(t, ada)) };
}

const optionsFor = async (act: Act, by: Tokens): Promise<RequestOptions> =>
  (await act.offer(by)).body.passkey;

const eventsOf = async (t: TestApp, by: Tokens) => {
  await writeFailedSignIns(t.ctx);
  return loggedEvents(t, by);
};

const expectRequired = (answer: Answer) => {
  expect(outcome(answer)).toBe('401 insufficient_user_authentication');
  expect(answer.body.passkey_required).toBe(true);
  const asked = answer.headers.get('WWW-Authenticate');
  expect(asked).toContain('error="insufficient_user_authentication"');
};

const expectRefused = (answer: Answer) => expect(outcome(answer)).toBe('400 invalid_grant');

/** One for each check of a sign-in; attacks.test.ts has the others. */
const forgeries: readonly AssertionForgery[] = [
  { flags: flag.up },
  { origin: 'https://evil.example' },
  { type: 'webauthn.create' },
  { userHandle: 'c29tZWJvZHk' },
  { signature: new Uint8Array(70) },
];

for (const [name, prepare] of Object.entries(acts)) {
  describe(`${name} with a passkey in the account`, () => {
    test('takes its touch in place of a recent sign-in, and the event names the passkey', async () => {
      const { t, ada, authenticator, id } = await openWithPasskey();
      const act = await prepare(t);
      for (const missing of [undefined, null]) expectRequired(await act.act(ada, missing));
      t.pass(3600);
      expectRequired(await act.act(ada));
      const options = await optionsFor(act, ada);
      expect(options).toEqual({
        challenge: expect.any(String),
        timeout: 300_000,
        rpId: 'localhost',
        allowCredentials: [
          { type: 'public-key', id: authenticator.credentials[0]!.id, transports: ['internal', 'hybrid'] },
        ],
        userVerification: 'required',
      } as RequestOptions);
      const done = await act.act(ada, authenticator.get(options, { userHandle: null }));
      expect(done.status).toBeLessThan(300);
      expect(await act.outcome(done)).toBe(true);
      const events = await eventsOf(t, ada);
      expect(events.some(({ type }) => type === 'sign_in_failed')).toBe(false);
      const made = events.find(({ type }) => ['login', 'key_created'].includes(type));
      expect(made?.detail['passkey_id']).toBe(id);
    });

    test('refuses a touch that proves something else, and spends its challenge', async () => {
      const { t, ada, authenticator } = await openWithPasskey();
      const evil = (await withPasskey(t, await t.login('eve@example.com'))).authenticator;
      // Another device, application or key, and another purpose.
      const others = await Promise.all(Object.values(acts).map((other) => other(t)));
      const act = await prepare(t);
      const elsewhere = await t.login();
      let refused = 0;
      const refuse = async (passkey: unknown, on = act) => {
        expectRefused(await on.act(ada, passkey));
        refused++;
      };
      for (const forgery of forgeries) {
        const options = await optionsFor(act, ada);
        await refuse(authenticator.get(options, forgery));
        await refuse(authenticator.get(options));
      }
      const shown = await optionsFor(act, ada);
      for (const by of [evil, authenticator]) await refuse(by.get(shown));
      const ofSession = await optionsFor(act, elsewhere);
      for (let times = 0; times < 2; times++) await refuse(authenticator.get(ofSession));
      for (const other of others) {
        const foreign = await optionsFor(other, ada);
        for (const on of [act, act, other]) await refuse(authenticator.get(foreign), on);
      }
      // Sent with a user code that does not exist.
      const wasted = authenticator.get(await optionsFor(act, ada));
      expectRefused(await post(t, ada, '/device/approve', { user_code: 'BBBB-BBBB', passkey: wasted }));
      await refuse(wasted);
      await refuse(authenticator.get((await t.ask('POST', '/passkey/login/challenge')).body));
      const late = await optionsFor(act, ada);
      t.pass(301);
      await refuse(authenticator.get(late));
      const failures = (await eventsOf(t, ada)).filter(
        ({ detail }) => detail?.method === 'passkey' && detail.count,
      );
      expect(failures.map(({ detail }) => detail)).toEqual([
        expect.objectContaining({ method: 'passkey', count: refused }),
      ]);
      const good = await act.act(ada, authenticator.get(await optionsFor(act, ada)));
      expect(await act.outcome(good)).toBe(true);
    });

    test('what the account has when it is done decides, not what it had before, and nothing with LATCHKEY_APPROVAL=recent', async () => {
      const t = await openApp('sqlite', { settings });
      const ada = await t.login();
      const act = await prepare(t);
      expect((await act.offer(ada)).body.passkey).toBeNull();
      const { authenticator, id } = await withPasskey(t, ada);
      expectRequired(await act.act(ada));
      const touched = authenticator.get(await optionsFor(act, ada));
      await t.ask('DELETE', `/passkeys/${id}`, { token: ada.access_token });
      t.pass(901);
      const stale = await act.act(ada, touched);
      expect([stale.status, stale.body.passkey_required]).toEqual([401, undefined]);
      const recent = await t.login();
      expect(await act.outcome(await act.act(recent, touched))).toBe(true);
      await withPasskey(t, recent);
      const lenient = await openApp('sqlite', { beside: t });
      const other = await prepare(lenient);
      expect((await other.offer(recent)).body.passkey).toBeNull();
      expect(await other.outcome(await other.act(recent))).toBe(true);
    });
  });
}

test('a device code from before a new server key is approved with a touch', async () => {
  const [older, newer] = [generateKey(), generateKey()];
  const before = await openApp('sqlite', { settings: { ...settings, LATCHKEY_KEYS: older } });
  const ada = await before.login();
  const { authenticator } = await withPasskey(before, ada);
  const act = await acts['approving a device']!(before);
  const keys = { LATCHKEY_KEYS: `${newer},${older}` };
  const t = await openApp('sqlite', { beside: before, settings: { ...settings, ...keys } });
  const { user_code } = (await act.offer(ada)).body;
  const { passkey } = (await post(t, ada, '/device/verify', { user_code })).body;
  const approval = { user_code, passkey: authenticator.get(passkey) };
  expect((await post(t, ada, '/device/approve', approval)).status).toBe(204);
});

onBothDatabases('a touch', (open) => {
  test('of 64 approvals with one response, one succeeds', async () => {
    const t = await open({ settings });
    const ada = await t.login();
    const { authenticator } = await withPasskey(t, ada);
    for (const [name, prepare] of Object.entries(acts)) {
      const act = await prepare(t);
      const passkey = authenticator.get(await optionsFor(act, ada));
      const answers = await Promise.all(Array.from({ length: 64 }, () => act.act(ada, passkey)));
      expect([name, answers.filter(({ status }) => status < 300).length]).toEqual([name, 1]);
      for (const answer of answers.filter(({ status }) => status >= 300)) expectRefused(answer);
    }
  });
});
