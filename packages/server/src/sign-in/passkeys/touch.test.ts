// What hands out tokens takes a passkey's proof of this very act, where the account has a passkey.

import { describe, expect, test } from 'bun:test';
import {
  type Answer,
  onBothDatabases,
  openApp,
  type TestApp,
  type Tokens,
} from '../../../../../tests/support/app.ts';
import {
  type AssertionForgery,
  type Authenticator,
  createAuthenticator,
  flag,
  type RequestOptions,
} from '../../../../../tests/support/authenticator.ts';
import { asBrowser, redeem, requestOf } from '../../../../../tests/support/authorize.ts';
import { loggedEvents } from '../../../../../tests/support/security-log.ts';
import { declareService } from '../../../../../tests/support/services.ts';
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

const acts: Record<string, (t: TestApp) => Promise<Act>> = {
  'approving a device': async (t) => {
    const { device_code, user_code } = (await t.ask('POST', '/device', { json: { device_name: 'den' } }))
      .body;
    return {
      offer: (by) => post(t, by, '/device/verify', { user_code }),
      act: (by, passkey) => post(t, by, '/device/approve', { user_code, passkey }),
      outcome: async () => {
        t.pass(5);
        return (await t.ask('POST', '/token', { json: { device_code } })).status === 200;
      },
    };
  },
  'approving an application': async (t) => {
    const { id: client_id, authorization } = await declareService(t.ctx, {
      name: 'Grafana',
      redirectUris: ['https://app.example/callback'],
    });
    const request = requestOf(client_id);
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
    const key = { name: 'Nightly build', scope: 'profile', expires_in: 86_400 };
    return {
      offer: (by) => post(t, by, '/keys/challenge', key),
      act: (by, passkey) => post(t, by, '/keys', { ...key, passkey }),
      outcome: async ({ status }) => status === 201,
    };
  },
};

async function addPasskey(t: TestApp, tokens: Tokens): Promise<{ authenticator: Authenticator; id: string }> {
  const authenticator = createAuthenticator({ origin: t.ctx.config.baseUrl });
  const options = (await post(t, tokens, '/passkey/register/challenge', {})).body;
  const { body } = await post(t, tokens, '/passkey/register', authenticator.create(options));
  return { authenticator, id: body.id };
}

const optionsFor = async (act: Act, by: Tokens): Promise<RequestOptions> =>
  (await act.offer(by)).body.passkey;

const eventsOf = async (t: TestApp, by: Tokens) => {
  await writeFailedSignIns(t.ctx);
  return loggedEvents(t, by);
};

const expectRequired = ({ status, headers, body }: Answer) => {
  expect([status, body.error, body.passkey_required]).toEqual([
    401,
    'insufficient_user_authentication',
    true,
  ]);
  expect(headers.get('WWW-Authenticate')).toContain('error="insufficient_user_authentication"');
};

const expectRefused = ({ status, body }: Answer) =>
  expect([status, body.error]).toEqual([400, 'invalid_grant']);

for (const [name, prepare] of Object.entries(acts)) {
  describe(`${name} with a passkey in the account`, () => {
    test('takes its touch in place of a recent sign-in, and the event names the passkey', async () => {
      const t = await openApp('sqlite', { settings });
      const ada = await t.login();
      const { authenticator, id } = await addPasskey(t, ada);
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

    const forgeries: Record<string, AssertionForgery> = {
      'no user verification': { flags: flag.up },
      'no user presence': { flags: flag.uv },
      'another origin': { origin: 'https://evil.example' },
      'another type': { type: 'webauthn.create' },
      'another relying party': { rpId: 'evil.example' },
      'a framed page': { clientData: { crossOrigin: true } },
      'another user handle': { userHandle: 'c29tZWJvZHk' },
      'a wrong signature': { signature: new Uint8Array(70) },
    };
    test('refuses a touch that proves something else, and spends its challenge', async () => {
      const t = await openApp('sqlite', { settings });
      const [ada, eve] = [await t.login(), await t.login('eve@example.com')];
      const { authenticator } = await addPasskey(t, ada);
      const evil = (await addPasskey(t, eve)).authenticator;
      const [act, ...others] = await Promise.all([
        prepare(t),
        ...Object.entries(acts)
          .filter(([other]) => other !== name)
          .map(([, other]) => other(t)),
      ]);
      const elsewhere = await t.login();
      let refused = 0;
      const refuse = async (options: RequestOptions, passkey: unknown, isSpent = true) => {
        expectRefused(await act.act(ada, passkey));
        refused++;
        if (!isSpent) return;
        expectRefused(await act.act(ada, authenticator.get(options)));
        refused++;
      };
      for (const forgery of Object.values(forgeries)) {
        const options = await optionsFor(act, ada);
        await refuse(options, authenticator.get(options, forgery));
      }
      const options = await optionsFor(act, ada);
      await refuse(options, evil.get(options));
      // Of another session, another device, application or key, another purpose.
      const ofSession = await optionsFor(act, elsewhere);
      await refuse(ofSession, authenticator.get(ofSession));
      for (const other of others) {
        const foreign = await optionsFor(other, ada);
        await refuse(foreign, authenticator.get(foreign));
        expectRefused(await other.act(ada, authenticator.get(foreign)));
        refused++;
      }
      const signIn = (await t.ask('POST', '/passkey/login/challenge')).body;
      await refuse(signIn, authenticator.get(signIn), false);
      const late = await optionsFor(act, ada);
      t.pass(301);
      await refuse(late, authenticator.get(late), false);
      const failures = (await eventsOf(t, ada)).filter(({ type }) => type === 'sign_in_failed');
      expect(failures.map(({ detail }) => detail)).toEqual([
        expect.objectContaining({ method: 'passkey', count: refused }),
      ]);
      const good = await act.act(ada, authenticator.get(await optionsFor(act, ada)));
      expect(await act.outcome(good)).toBe(true);
    });

    test('what the account has when it is done decides, not what it had before', async () => {
      const t = await openApp('sqlite', { settings });
      const ada = await t.login();
      const act = await prepare(t);
      expect((await act.offer(ada)).body.passkey).toBeNull();
      const { authenticator, id } = await addPasskey(t, ada);
      expectRequired(await act.act(ada));
      const touched = authenticator.get(await optionsFor(act, ada));
      await t.ask('DELETE', `/passkeys/${id}`, { token: ada.access_token });
      t.pass(901);
      const stale = await act.act(ada, touched);
      expect([stale.status, stale.body.passkey_required]).toEqual([401, undefined]);
      const recent = await t.login();
      expect(await act.outcome(await act.act(recent, touched))).toBe(true);
    });

    test('LATCHKEY_APPROVAL=recent takes a recent sign-in instead', async () => {
      const t = await openApp('sqlite');
      const ada = await t.login();
      await addPasskey(t, ada);
      const act = await prepare(t);
      expect((await act.offer(ada)).body.passkey).toBeNull();
      expect(await act.outcome(await act.act(ada))).toBe(true);
    });
  });
}

test('a touch for a device is for just that code', async () => {
  const t = await openApp('sqlite', { settings });
  const ada = await t.login();
  const { authenticator } = await addPasskey(t, ada);
  const [one, other] = [await acts['approving a device']!(t), await acts['approving a device']!(t)];
  const options = await optionsFor(one, ada);
  expectRefused(await other.act(ada, authenticator.get(options)));
  expectRefused(await one.act(ada, authenticator.get(options)));
});

test('a device code from before a new server key is approved with a touch', async () => {
  const [older, newer] = [generateKey(), generateKey()];
  const before = await openApp('sqlite', { settings: { ...settings, LATCHKEY_KEYS: older } });
  const ada = await before.login();
  const { authenticator } = await addPasskey(before, ada);
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
    const { authenticator } = await addPasskey(t, ada);
    for (const [name, prepare] of Object.entries(acts)) {
      const act = await prepare(t);
      const passkey = authenticator.get(await optionsFor(act, ada));
      const answers = await Promise.all(Array.from({ length: 64 }, () => act.act(ada, passkey)));
      expect([name, answers.filter(({ status }) => status < 300).length]).toEqual([name, 1]);
      for (const answer of answers.filter(({ status }) => status >= 300)) expectRefused(answer);
    }
  });
});
