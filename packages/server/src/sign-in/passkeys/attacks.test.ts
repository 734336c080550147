// What an attacker could vary in a ceremony, with real signatures: each refused, on both databases.

import { expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { onBothDatabases, type TestApp, type Tokens } from '../../../../../tests/support/app.ts';
import {
  type Algorithm,
  type AssertionForgery,
  type Authenticator,
  type AuthenticatorOptions,
  base64url,
  cbor,
  coseKey,
  createAuthenticator,
  flag,
  type RegistrationForgery,
} from '../../../../../tests/support/authenticator.ts';

const verified = flag.up | flag.uv;
const refusedMs = 2_000;

const plug = (app: TestApp, options: Partial<AuthenticatorOptions> = {}): Authenticator =>
  createAuthenticator({ origin: app.ctx.config.baseUrl, ...options });

const creationOptions = async (app: TestApp, tokens: Tokens) =>
  (await app.ask('POST', '/passkey/register/challenge', { token: tokens.access_token })).body;
const requestOptions = async (app: TestApp) => (await app.ask('POST', '/passkey/login/challenge')).body;

const postRegistration = (app: TestApp, tokens: Tokens, json: unknown) =>
  app.ask('POST', '/passkey/register', { token: tokens.access_token, json });
const postLogin = (app: TestApp, json: unknown) => app.ask('POST', '/passkey/login', { json });

/** Status and code of an answer, with the word that the log has for it. */
function verdict(app: TestApp, { status, body }: { status: number; body: { error?: string } }): string {
  const { detail } = JSON.parse(app.logs.at(-1)!) as { detail?: string };
  return [status, body.error, detail].filter((part) => part !== undefined).join(' ');
}

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey;
const pointOff = () => {
  const key = coseKey('ES256', ec('P-256'));
  key[key.length - 1]! ^= 1;
  return key;
};
const p384AsEs256 = () => {
  const { x, y } = ec('P-384').export({ format: 'jwk' });
  const part = (text: string | undefined) => Buffer.from(text!, 'base64url');
  return cbor(
    new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 2],
      [-2, part(x)],
      [-3, part(y)],
    ]),
  );
};
const rsa = (modulusLength: number) =>
  coseKey('RS256', generateKeyPairSync('rsa', { modulusLength }).publicKey);
const rsaWithExponentOf = (length: number) => {
  const { n } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
  const entries: [number, number | Uint8Array][] = [
    [1, 3],
    [3, -257],
    [-1, Buffer.from(n!, 'base64url')],
    [-2, Buffer.alloc(length, 0xff)],
  ];
  return cbor(new Map(entries));
};
const deeplyNested = Buffer.concat([Buffer.alloc(20_000, 0x81), Buffer.from([0x00])]);
const endlessArray = Buffer.from([0x9a, 0xff, 0xff, 0xff, 0xff]);

const registrationForgeries: Record<string, [RegistrationForgery, string]> = {
  'another origin': [{ origin: 'https://evil.example' }, 'origin'],
  'a subdomain as origin': [{ origin: 'http://evil.localhost:8787' }, 'origin'],
  'another RP ID': [{ rpId: 'evil.example' }, 'verification'],
  'the type of a login': [{ type: 'webauthn.get' }, 'type'],
  'a frame in another site': [{ clientData: { crossOrigin: true } }, 'cross_origin'],
  'a top origin': [{ clientData: { topOrigin: 'https://evil.example' } }, 'cross_origin'],
  'no user presence': [{ flags: flag.uv | flag.at }, 'verification'],
  'no user verification': [{ flags: flag.up | flag.at }, 'verification'],
  'no attested credential': [{ flags: verified }, 'verification'],
  'a backup without eligibility': [{ flags: verified | flag.at | flag.bs }, 'verification'],
  'bytes after the authenticator data': [{ trailing: new Uint8Array(3) }, 'verification'],
  'the ID of another credential': [{ id: base64url('another credential') }, 'credential_id'],
  'a raw ID that differs': [{ rawId: base64url('another credential') }, 'verification'],
  'a point that is not on the curve': [{ publicKey: pointOff() }, 'public_key'],
  'another curve than the algorithm has': [{ publicKey: p384AsEs256() }, 'public_key'],
  'an RSA key that is too short': [{ publicKey: rsa(1024) }, 'public_key'],
  'an RSA exponent that is costly': [{ publicKey: rsaWithExponentOf(256) }, 'public_key'],
  'an algorithm that was not offered': [
    {
      publicKey: cbor(
        new Map([
          [1, 2],
          [3, -35],
        ]),
      ),
    },
    'verification',
  ],
  'a key that is no map': [{ publicKey: cbor('key') }, 'verification'],
  'a self attestation of another key': [
    { attestation: 'packed with a foreign key' },
    'attestation_signature',
  ],
  'a format that is not taken': [{ attestation: 'tpm' }, 'attestation_format'],
  // The verdict is our own, not what a parser of certificates says: none has seen them.
  'a certificate that is not one': [
    { attestation: 'packed', x5c: [Buffer.from('not a certificate')] },
    'attestation_certificate',
  ],
  'certificates that are not a list': [{ attestation: 'packed', x5c: 7 }, 'attestation_certificate'],
  'an empty list of certificates': [{ attestation: 'packed', x5c: [] }, 'attestation_certificate'],
  'CBOR that is cut': [{ attestationObject: Buffer.from([0xa3, 0x63]) }, 'verification'],
  'CBOR that is no map': [{ attestationObject: cbor('none') }, 'verification'],
  'CBOR with an endless list': [{ attestationObject: endlessArray }, 'verification'],
  'CBOR nested without end': [{ attestationObject: deeplyNested }, 'verification'],
  'authenticator data that is no bytes': [
    {
      attestationObject: cbor(
        new Map<string, string | Map<string, string>>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', 'text'],
        ]),
      ),
    },
    'verification',
  ],
  'an empty attestation object': [{ attestationObject: cbor(new Map()) }, 'attestation_format'],
};

const loginForgeries: Record<string, [AssertionForgery, string]> = {
  'another origin': [{ origin: 'https://evil.example' }, '400 invalid_grant origin'],
  'another port': [{ origin: 'http://localhost:1' }, '400 invalid_grant origin'],
  'another RP ID': [{ rpId: 'evil.example' }, '400 invalid_grant rp_id'],
  'the type of a registration': [{ type: 'webauthn.create' }, '400 invalid_grant type'],
  'a frame in another site': [{ clientData: { crossOrigin: true } }, '400 invalid_grant cross_origin'],
  'a top origin': [{ clientData: { topOrigin: 'https://evil.example' } }, '400 invalid_grant cross_origin'],
  'no user presence': [{ flags: flag.uv }, '400 invalid_grant user_presence'],
  'no user verification': [{ flags: flag.up }, '400 invalid_grant user_verification'],
  'a backup without eligibility': [{ flags: verified | flag.bs }, '400 invalid_grant backup_state'],
  'a changed backup eligibility': [{ flags: verified | flag.be }, '400 invalid_grant backup_eligibility'],
  'no user handle': [{ userHandle: null }, '400 invalid_grant user_handle'],
  'an empty user handle': [{ userHandle: '' }, '400 invalid_grant user_handle'],
  'another user handle': [{ userHandle: base64url('somebody') }, '400 invalid_grant user_handle'],
  'a signature of one byte': [{ signature: new Uint8Array(1) }, '400 invalid_grant signature'],
  'a signature of zeros': [{ signature: new Uint8Array(64) }, '400 invalid_grant signature'],
  'a raw ID that differs': [{ rawId: base64url('another') }, '400 invalid_grant credential_id'],
  'authenticator data that is cut': [
    { authenticatorData: new Uint8Array(36) },
    '400 invalid_grant verification',
  ],
  'bytes after the authenticator data': [{ trailing: new Uint8Array(2) }, '400 invalid_grant verification'],
  'extensions that are no CBOR': [
    { flags: verified | flag.ed, trailing: Buffer.from([0xff, 0xff]) },
    '400 invalid_grant verification',
  ],
  'a credential that is not registered': [{ id: base64url('never seen') }, '400 unknown_credential'],
  'an unknown credential on another site': [
    { id: base64url('never seen'), origin: 'https://evil.example' },
    '400 invalid_grant origin',
  ],
};

onBothDatabases('attacks on passkeys', (open) => {
  test('a registration with a forged field is refused and spends its challenge', async () => {
    const app = await open();
    const tokens = await app.login();
    const authenticator = plug(app);
    for (const [what, [forgery, detail]] of Object.entries(registrationForgeries)) {
      const options = await creationOptions(app, tokens);
      const started = performance.now();
      const answer = await postRegistration(app, tokens, authenticator.create(options, forgery));
      expect(`${what}: ${verdict(app, answer)}`).toBe(`${what}: 400 invalid_grant ${detail}`);
      expect(performance.now() - started).toBeLessThan(refusedMs);
      const retry = await postRegistration(app, tokens, authenticator.create(options));
      expect(`${what}: ${verdict(app, retry)}`).toBe(`${what}: 400 invalid_grant replay`);
    }
    const { body } = await app.ask('GET', '/passkeys', { token: tokens.access_token });
    expect(body.passkeys).toEqual([]);
    await app.close();
  });

  for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const satisfies Algorithm[]) {
    test(`a login with a forged field is refused and spends its challenge: ${algorithm}`, async () => {
      const app = await open();
      const tokens = await app.login();
      const authenticator = plug(app, { algorithm });
      await postRegistration(app, tokens, authenticator.create(await creationOptions(app, tokens)));
      for (const [what, [forgery, expected]] of Object.entries(loginForgeries)) {
        const options = await requestOptions(app);
        const answer = await postLogin(app, authenticator.get(options, forgery));
        expect(`${what}: ${verdict(app, answer)}`).toStartWith(`${what}: ${expected}`);
        const retry = await postLogin(app, authenticator.get(options));
        expect(`${what}: ${verdict(app, retry)}`).toBe(`${what}: 400 invalid_grant replay`);
      }
      expect((await postLogin(app, authenticator.get(await requestOptions(app)))).status).toBe(200);
      await app.close();
    });

    test(`a self attestation is checked: ${algorithm}`, async () => {
      const app = await open();
      const tokens = await app.login();
      const authenticator = plug(app, { algorithm });
      const register = async (attestation: RegistrationForgery['attestation'] & string) =>
        postRegistration(
          app,
          tokens,
          authenticator.create(await creationOptions(app, tokens), { attestation }),
        );
      expect((await register('packed forged')).body.error).toBe('invalid_grant');
      expect((await register('packed with a foreign key')).body.error).toBe('invalid_grant');
      expect((await register('packed')).status).toBe(201);
      expect((await postLogin(app, authenticator.get(await requestOptions(app)))).status).toBe(200);
      await app.close();
    });
  }

  test("a signature by another credential's key lets nobody in, whoever owns it", async () => {
    const app = await open();
    const ada = await app.login();
    const eve = await app.login('eve@example.com');
    const authenticator = plug(app);
    for (const who of [ada, ada, eve]) {
      await postRegistration(app, who, authenticator.create(await creationOptions(app, who)));
    }
    const [first, second, eves] = authenticator.credentials;
    const tryWith = async (forgery: AssertionForgery, credential = first!) => {
      const options = await requestOptions(app);
      return verdict(app, await postLogin(app, authenticator.get(options, forgery, credential)));
    };
    expect(await tryWith({ signedBy: second! })).toBe('400 invalid_grant signature');
    expect(await tryWith({ signedBy: eves! })).toBe('400 invalid_grant signature');
    expect(await tryWith({ id: second!.id })).toBe('400 invalid_grant signature');
    expect(await tryWith({ userHandle: first!.userHandle }, eves)).toBe('400 invalid_grant user_handle');
    expect(await tryWith({ id: first!.id }, eves)).toBe('400 invalid_grant user_handle');
    expect(await tryWith({ id: first!.id, userHandle: first!.userHandle }, eves)).toBe(
      '400 invalid_grant signature',
    );
    await app.close();
  });

  test('a challenge is good once, for its own purpose, in its own session, in its own time', async () => {
    const app = await open();
    const ada = await app.login();
    const adaElsewhere = await app.login();
    const eve = await app.login('eve@example.com');
    const authenticator = plug(app);
    const options = await creationOptions(app, ada);

    for (const [who, json] of [
      [adaElsewhere, authenticator.create(options)],
      [eve, authenticator.create(options)],
      [ada, authenticator.create({ ...options, challenge: (await requestOptions(app)).challenge })],
      [ada, authenticator.create({ ...options, challenge: base64url(new Uint8Array(60)) })],
      [ada, authenticator.create({ ...options, challenge: 'c2hvcnQ' })],
      [ada, authenticator.create({ ...options, challenge: '' })],
    ] as const) {
      expect(verdict(app, await postRegistration(app, who, json))).toBe(
        '400 invalid_grant foreign_challenge',
      );
    }
    // What another session tried has not spent it.
    const response = authenticator.create(options);
    expect((await postRegistration(app, ada, response)).status).toBe(201);
    expect(verdict(app, await postRegistration(app, ada, response))).toBe('400 invalid_grant replay');

    const before = app.statements.length;
    const request = await requestOptions(app);
    const cut = request.challenge.slice(0, -1);
    const last = request.challenge.endsWith('A') ? 'B' : 'A';
    for (const challenge of [options.challenge, cut, `${cut}${last}`, '', 'lk_at_x']) {
      const json = authenticator.get({ ...request, challenge });
      expect(verdict(app, await postLogin(app, json))).toBe('400 invalid_grant foreign_challenge');
    }
    app.pass(300);
    const late = await postLogin(app, authenticator.get(request));
    expect(verdict(app, late)).toBe('400 invalid_grant expired_challenge');
    expect(app.statements.length).toBe(before);

    const fresh = authenticator.get(await requestOptions(app));
    expect((await postLogin(app, fresh)).status).toBe(200);
    expect(verdict(app, await postLogin(app, fresh))).toBe('400 invalid_grant replay');
    await app.close();
  });

  test('client data that is not what a browser writes is refused', async () => {
    const app = await open();
    const tokens = await app.login();
    const authenticator = plug(app);
    await postRegistration(app, tokens, authenticator.create(await creationOptions(app, tokens)));
    const { challenge } = await requestOptions(app);
    const origin = app.ctx.config.baseUrl;
    for (const clientDataText of [
      'null',
      '7',
      '[]',
      '{}',
      '{',
      '\ufeff',
      JSON.stringify({ type: 'webauthn.get', challenge: [challenge], origin }),
      JSON.stringify({ type: 'webauthn.get', challenge, origin: { toString: origin } }),
      JSON.stringify({ type: 'webauthn.get', challenge, origin, crossOrigin: 'true' }),
    ]) {
      const json = authenticator.get(await requestOptions(app), { clientDataText });
      // Some of them share a challenge, which the first of them spends.
      expect(verdict(app, await postLogin(app, json))).toMatch(/^400 invalid_grant (client_data|replay)$/);
    }
    const good = authenticator.get(await requestOptions(app));
    for (const clientDataJSON of ['not base64url!', 'AAAAA', '/+==', '____']) {
      const json = { ...good, response: { ...good.response, clientDataJSON } };
      expect((await postLogin(app, json)).body.error).toBe('invalid_grant');
    }
    expect((await postLogin(app, good)).status).toBe(200);
    await app.close();
  });

  test('client data that is wrong in any way but its challenge spends the challenge', async () => {
    const app = await open();
    const tokens = await app.login();
    const authenticator = plug(app);
    await postRegistration(app, tokens, authenticator.create(await creationOptions(app, tokens)));
    const origin = app.ctx.config.baseUrl;
    for (const odd of [{ crossOrigin: 'true' }, { crossOrigin: null }, { topOrigin: null }, { type: 7 }]) {
      const options = await requestOptions(app);
      const clientData = { type: 'webauthn.get', challenge: options.challenge, origin, ...odd };
      const wrong = authenticator.get(options, { clientDataText: JSON.stringify(clientData) });
      expect((await postLogin(app, wrong)).body.error).toBe('invalid_grant');
      expect((await postLogin(app, authenticator.get(options))).body.error).toBe('invalid_grant');
    }
    await app.close();
  });

  test('a field of the wrong type or length is named, and spends nothing', async () => {
    const app = await open();
    const tokens = await app.login();
    const authenticator = plug(app);
    const creation = authenticator.create(await creationOptions(app, tokens));
    const setting = (json: object, path: string, value: unknown) => {
      const [outer, inner] = path.split('.') as [string, string | undefined];
      return inner === undefined
        ? { ...json, [outer]: value }
        : { ...json, [outer]: { ...(json as Record<string, object>)[outer], [inner]: value } };
    };
    const texts = ['id', 'rawId', 'type', 'response.clientDataJSON'];
    const wrongs: unknown[] = [undefined, null, 7, true, [], {}, '', 'x'.repeat(40_000)];
    for (const path of [...texts, 'response.attestationObject']) {
      for (const value of wrongs) {
        const { status, body } = await postRegistration(app, tokens, setting(creation, path, value));
        expect([status, body.error]).toEqual([400, 'invalid_request']);
        expect(body.error_description).toStartWith(`${path}:`);
      }
    }
    for (const transports of ['usb', [7], [''], ['x'.repeat(33)], Array(17).fill('usb')]) {
      const json = setting(creation, 'response.transports', transports);
      expect((await postRegistration(app, tokens, json)).body.error_description).toStartWith(
        'response.transports',
      );
    }
    expect((await postRegistration(app, tokens, creation)).status).toBe(201);

    const assertion = authenticator.get(await requestOptions(app));
    for (const path of [...texts, 'response.authenticatorData', 'response.signature']) {
      for (const value of wrongs) {
        const { status, body } = await postLogin(app, setting(assertion, path, value));
        expect([status, body.error]).toEqual([400, 'invalid_request']);
        expect(body.error_description).toStartWith(`${path}:`);
      }
    }
    for (const handle of [7, [], 'x'.repeat(129)]) {
      const { body } = await postLogin(app, setting(assertion, 'response.userHandle', handle));
      expect(body.error_description).toStartWith('response.userHandle:');
    }
    for (const json of [{}, [], 'x', null, { ...assertion, response: null }]) {
      expect((await postLogin(app, json)).body.error).toBe('invalid_request');
    }
    expect((await postLogin(app, assertion)).status).toBe(200);
    await app.close();
  });

  test('a counter that does not grow is refused and recorded on a single device', async () => {
    const app = await open();
    const tokens = await app.login();
    const authenticator = plug(app);
    await postRegistration(app, tokens, authenticator.create(await creationOptions(app, tokens)));
    const logIn = async (counter: number) =>
      verdict(app, await postLogin(app, authenticator.get(await requestOptions(app), { counter })));
    expect(await logIn(0)).toBe('200');
    expect(await logIn(0)).toBe('200');
    expect(await logIn(5)).toBe('200');
    expect(await logIn(5)).toBe('400 invalid_grant clone');
    expect(await logIn(4)).toBe('400 invalid_grant clone');
    expect(await logIn(0)).toBe('400 invalid_grant clone');
    expect(await logIn(6)).toBe('200');
    expect(await logIn(0xffff_ffff)).toBe('200');
    expect(await logIn(1)).toBe('400 invalid_grant clone');
    const events = await app.ctx.db.read.run<{ detail: string }>(
      "SELECT detail FROM events WHERE type = 'passkey_clone_suspected'",
      [],
    );
    expect(events.map(({ detail }) => JSON.parse(detail).login)).toEqual(Array(4).fill('refused'));
    await app.close();
  });

  test('a counter that does not grow is only recorded on many devices', async () => {
    const app = await open();
    const tokens = await app.login();
    const authenticator = plug(app, { flags: verified | flag.be | flag.bs });
    await postRegistration(app, tokens, authenticator.create(await creationOptions(app, tokens)));
    const logIn = async (counter: number) =>
      (await postLogin(app, authenticator.get(await requestOptions(app), { counter }))).status;
    for (const counter of [5, 5, 3, 4, 0, 0]) expect(await logIn(counter)).toBe(200);
    const events = await app.ctx.db.read.run<{ detail: string }>(
      "SELECT detail FROM events WHERE type = 'passkey_clone_suspected'",
      [],
    );
    expect(events.map(({ detail }) => JSON.parse(detail).login)).toEqual(Array(3).fill('accepted'));
    await app.close();
  });

  test('a removed passkey is an unknown credential from the moment of the answer', async () => {
    const app = await open();
    const tokens = await app.login();
    const authenticator = plug(app);
    const { body } = await postRegistration(
      app,
      tokens,
      authenticator.create(await creationOptions(app, tokens)),
    );
    const options = await requestOptions(app);
    await app.ask('DELETE', `/passkeys/${body.id}`, { token: tokens.access_token });
    const answer = await postLogin(app, authenticator.get(options));
    expect([answer.status, answer.body.error]).toEqual([400, 'unknown_credential']);
    await app.close();
  });
});
