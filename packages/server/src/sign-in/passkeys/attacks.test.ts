// Every field of a ceremony that an attacker could forge, with real signatures.

import { describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { type CBORType, encodeCBOR } from '@levischuck/tiny-cbor';
import {
  creationOptions,
  newAuthenticator,
  newPasskey,
  outcome,
  postRegistration,
  postSignIn,
  requestOptions,
} from '#support/account.ts';
import { onBothDatabases, openApp, type TestApp, type Tokens } from '#support/app.ts';
import {
  type Algorithm,
  type AssertionForgery,
  base64url,
  coseKey,
  flag,
  type RegistrationForgery,
} from '#support/authenticator.ts';
import { loggedEvents } from '#support/security-log.ts';
import { fresh } from '#support/shared.ts';

const verified = flag.up | flag.uv;

/** Status and error code of an answer, with its detail in the log. */
function verdict(app: TestApp, { status, body }: { status: number; body: { error?: string } }): string {
  const { detail } = JSON.parse(app.logs.at(-1)!) as { detail?: string };
  return [status, body.error, detail].filter((part) => part !== undefined).join(' ');
}

const cose = (...entries: [number, number | Uint8Array][]) => encodeCBOR(new Map(entries));
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey;
const part = (text: string | undefined) => Buffer.from(text!, 'base64url');
const pointNotOnCurve = () => {
  const key = coseKey('ES256', ec('P-256'));
  key[key.length - 1]! ^= 1;
  return key;
};
const p384AsEs256 = () => {
  const { x, y } = ec('P-384').export({ format: 'jwk' });
  return cose([1, 2], [3, -7], [-1, 2], [-2, part(x)], [-3, part(y)]);
};
const rsaKey = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).publicKey;
const rsaWithExponent = (exponent: Uint8Array) =>
  cose([1, 3], [3, -257], [-1, part(rsaKey(2048).export({ format: 'jwk' }).n)], [-2, exponent]);
const ed25519KeyOf = (point: Uint8Array) => cose([1, 1], [3, -8], [-1, 6], [-2, point]);
/** Two of the points of order 8. */
const smallOrderPoints = [
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
].map((hex) => Buffer.from(hex, 'hex'));
const deeplyNested = Buffer.concat([Buffer.alloc(20_000, 0x81), Buffer.from([0x00])]);
const textAttestation = { fmt: 'none', attStmt: new Map<string, string>(), authData: 'text' };
const dataAsText = encodeCBOR(new Map<string, CBORType>(Object.entries(textAttestation)));
const endlessArray = Buffer.from([0x9a, 0xff, 0xff, 0xff, 0xff]);

const registrationForgeries: Record<string, [RegistrationForgery, string]> = {
  'another origin': [{ origin: 'https://evil.example' }, 'origin'],
  'a subdomain as origin': [{ origin: 'http://evil.localhost:8787' }, 'origin'],
  'another RP ID': [{ rpId: 'evil.example' }, 'rp_id'],
  'the type of a sign-in': [{ type: 'webauthn.get' }, 'type'],
  'a frame on another site': [{ clientData: { crossOrigin: true } }, 'cross_origin'],
  'a top origin': [{ clientData: { topOrigin: 'https://evil.example' } }, 'cross_origin'],
  'no user presence': [{ flags: flag.uv | flag.at }, 'user_presence'],
  'no user verification': [{ flags: flag.up | flag.at }, 'user_verification'],
  'no attested credential': [{ flags: verified }, 'verification'],
  'a backup without eligibility': [{ flags: verified | flag.at | flag.bs }, 'backup_state'],
  'trailing bytes after the authenticator data': [{ trailing: new Uint8Array(3) }, 'verification'],
  'the ID of another credential': [{ id: base64url('another credential') }, 'credential_id'],
  'a raw ID that differs': [{ rawId: base64url('another credential') }, 'credential_id'],
  'a point that is not on the curve': [{ publicKey: pointNotOnCurve() }, 'public_key'],
  'a curve that does not belong to the algorithm': [{ publicKey: p384AsEs256() }, 'public_key'],
  'an RSA key that is too short': [{ publicKey: coseKey('RS256', rsaKey(1024)) }, 'public_key'],
  'an RSA exponent that is costly to verify': [
    { publicKey: rsaWithExponent(Buffer.alloc(256, 0xff)) },
    'public_key',
  ],
  'an RSA exponent of 1': [{ publicKey: rsaWithExponent(Buffer.from([1])) }, 'public_key'],
  'an even RSA exponent': [{ publicKey: rsaWithExponent(Buffer.from([1, 0, 0])) }, 'public_key'],
  'an Ed25519 point of all zeros': [{ publicKey: ed25519KeyOf(Buffer.alloc(32)) }, 'public_key'],
  'an Ed25519 point of order 8': [{ publicKey: ed25519KeyOf(smallOrderPoints[0]!) }, 'public_key'],
  'another Ed25519 point of order 8': [{ publicKey: ed25519KeyOf(smallOrderPoints[1]!) }, 'public_key'],
  'an Ed25519 point out of range': [{ publicKey: ed25519KeyOf(Buffer.alloc(32, 0xff)) }, 'public_key'],
  'an algorithm that was not offered': [{ publicKey: cose([1, 2], [3, -35]) }, 'public_key'],
  'a key that is not a map': [{ publicKey: encodeCBOR('key') }, 'verification'],
  'a forged self attestation': [{ attestation: 'packed forged' }, 'attestation_signature'],
  'a self attestation of another key': [
    { attestation: 'packed with a foreign key' },
    'attestation_signature',
  ],
  'a self attestation of another algorithm': [
    { attestation: 'packed', statementAlg: -257 },
    'attestation_signature',
  ],
  'a statement without attestation': [{ statementAlg: -7 }, 'attestation_statement'],
  'an unsupported attestation format': [{ attestation: 'tpm' }, 'attestation_format'],
  // The detail is ours, so no certificate parser has seen these.
  'a malformed certificate': [
    { attestation: 'packed', x5c: [Buffer.from('not a certificate')] },
    'attestation_certificate',
  ],
  'certificates that are not a list': [{ attestation: 'packed', x5c: 7 }, 'attestation_certificate'],
  'an empty list of certificates': [{ attestation: 'packed', x5c: [] }, 'attestation_certificate'],
  'truncated CBOR': [{ attestationObject: Buffer.from([0xa3, 0x63]) }, 'verification'],
  'CBOR that is not a map': [{ attestationObject: encodeCBOR('none') }, 'verification'],
  'CBOR that announces an endless array': [{ attestationObject: endlessArray }, 'verification'],
  'deeply nested CBOR': [{ attestationObject: deeplyNested }, 'verification'],
  'authenticator data that is not a byte string': [{ attestationObject: dataAsText }, 'verification'],
  'an empty attestation object': [{ attestationObject: encodeCBOR(new Map()) }, 'attestation_format'],
};

const signInForgeries: Record<string, [AssertionForgery, string]> = {
  'another origin': [{ origin: 'https://evil.example' }, 'origin'],
  'another port': [{ origin: 'http://localhost:1' }, 'origin'],
  'another RP ID': [{ rpId: 'evil.example' }, 'rp_id'],
  'the type of a registration': [{ type: 'webauthn.create' }, 'type'],
  'a frame on another site': [{ clientData: { crossOrigin: true } }, 'cross_origin'],
  'a top origin': [{ clientData: { topOrigin: 'https://evil.example' } }, 'cross_origin'],
  'no user presence': [{ flags: flag.uv }, 'user_presence'],
  'no user verification': [{ flags: flag.up }, 'user_verification'],
  'a backup without eligibility': [{ flags: verified | flag.bs }, 'backup_state'],
  'a changed backup eligibility': [{ flags: verified | flag.be }, 'backup_eligibility'],
  'no user handle': [{ userHandle: null }, 'user_handle'],
  'an empty user handle': [{ userHandle: '' }, 'user_handle'],
  'another user handle': [{ userHandle: base64url('somebody') }, 'user_handle'],
  'a signature of one byte': [{ signature: new Uint8Array(1) }, 'signature'],
  'a signature of zeros': [{ signature: new Uint8Array(64) }, 'signature'],
  'a raw ID that differs': [{ rawId: base64url('another') }, 'credential_id'],
  'truncated authenticator data': [{ authenticatorData: new Uint8Array(36) }, 'verification'],
  'trailing bytes after the authenticator data': [{ trailing: new Uint8Array(2) }, 'verification'],
  'extensions that are not CBOR': [
    { flags: verified | flag.ed, trailing: Buffer.from([0xff, 0xff]) },
    'verification',
  ],
  'a credential that is not registered': [{ id: base64url('never seen') }, 'unknown_credential'],
  'an unknown credential on another site': [
    { id: base64url('never seen'), origin: 'https://evil.example' },
    'origin',
  ],
};

describe('attacks on passkeys', () => {
  const app = fresh(() => openApp('sqlite'));

  test('a registration with a forged field is refused and spends its challenge', async () => {
    const tokens = await app.login();
    const authenticator = newAuthenticator(app);
    for (const [field, [forgery, detail]] of Object.entries(registrationForgeries)) {
      const options = await creationOptions(app, tokens);
      const answer = await postRegistration(app, tokens, authenticator.create(options, forgery));
      expect(`${field}: ${verdict(app, answer)}`).toBe(`${field}: 400 invalid_grant ${detail}`);
      const retry = await postRegistration(app, tokens, authenticator.create(options));
      expect(`${field}: ${verdict(app, retry)}`).toBe(`${field}: 400 invalid_grant replay`);
    }
    const { body } = await app.ask('GET', '/passkeys', { token: tokens.access_token });
    expect(body.passkeys).toEqual([]);
  });

  for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const satisfies Algorithm[]) {
    test(`a self-attested passkey is registered; a sign-in with a forged field is refused and spends its challenge: ${algorithm}`, async () => {
      const tokens = await app.login();
      const authenticator = await newPasskey(app, tokens, { algorithm, forgery: { attestation: 'packed' } });
      for (const [field, [forgery, expected]] of Object.entries(signInForgeries)) {
        const options = await requestOptions(app);
        const answer = await postSignIn(app, authenticator.get(options, forgery));
        const code = expected === 'unknown_credential' ? '' : 'invalid_grant ';
        expect(`${field}: ${verdict(app, answer)}`).toStartWith(`${field}: 400 ${code}${expected}`);
        const retry = await postSignIn(app, authenticator.get(options));
        expect(`${field}: ${verdict(app, retry)}`).toBe(`${field}: 400 invalid_grant replay`);
      }
      expect((await postSignIn(app, authenticator.get(await requestOptions(app)))).status).toBe(200);
    });
  }

  test("a signature by another credential's key never signs anyone in, no matter who owns that credential", async () => {
    const ada = await app.login();
    const eve = await app.login('eve@example.com');
    const authenticator = newAuthenticator(app);
    for (const user of [ada, ada, eve]) {
      await postRegistration(app, user, authenticator.create(await creationOptions(app, user)));
    }
    const [first, second, eves] = authenticator.credentials;
    const tryWith = async (forgery: AssertionForgery, credential = first!) => {
      const options = await requestOptions(app);
      return verdict(app, await postSignIn(app, authenticator.get(options, forgery, credential)));
    };
    expect(await tryWith({ signedBy: second! })).toBe('400 invalid_grant signature');
    expect(await tryWith({ signedBy: eves! })).toBe('400 invalid_grant signature');
    expect(await tryWith({ id: second!.id })).toBe('400 invalid_grant signature');
    expect(await tryWith({ userHandle: first!.userHandle }, eves)).toBe('400 invalid_grant user_handle');
    expect(await tryWith({ id: first!.id }, eves)).toBe('400 invalid_grant user_handle');
    expect(await tryWith({ id: first!.id, userHandle: first!.userHandle }, eves)).toBe(
      '400 invalid_grant signature',
    );
  });

  test('a challenge works once, for its own ceremony, in its own session, until it expires', async () => {
    const ada = await app.login();
    const adaOnAnotherDevice = await app.login();
    const eve = await app.login('eve@example.com');
    const authenticator = newAuthenticator(app, { counts: true });
    const options = await creationOptions(app, ada);

    for (const [user, json] of [
      [adaOnAnotherDevice, authenticator.create(options)],
      [eve, authenticator.create(options)],
      [ada, authenticator.create({ ...options, challenge: (await requestOptions(app)).challenge })],
      [ada, authenticator.create({ ...options, challenge: base64url(new Uint8Array(60)) })],
      [ada, authenticator.create({ ...options, challenge: 'c2hvcnQ' })],
      [ada, authenticator.create({ ...options, challenge: '' })],
    ] as const) {
      expect(verdict(app, await postRegistration(app, user, json))).toBe(
        '400 invalid_grant foreign_challenge',
      );
    }
    // The attempts of other sessions have not spent it.
    const response = authenticator.create(options);
    expect((await postRegistration(app, ada, response)).status).toBe(201);
    expect(verdict(app, await postRegistration(app, ada, response))).toBe('400 invalid_grant replay');
    const expired = newAuthenticator(app).create(await creationOptions(app, ada));
    app.pass(300);
    expect(verdict(app, await postRegistration(app, ada, expired))).toBe(
      '400 invalid_grant expired_challenge',
    );

    const request = await requestOptions(app);
    const cut = request.challenge.slice(0, -1);
    const last = request.challenge.endsWith('A') ? 'B' : 'A';
    for (const challenge of [options.challenge, cut, `${cut}${last}`, '', 'lk_at_x']) {
      const json = authenticator.get({ ...request, challenge });
      expect(verdict(app, await postSignIn(app, json))).toBe('400 invalid_grant foreign_challenge');
    }
    app.pass(300);
    const late = await postSignIn(app, authenticator.get(request));
    expect(verdict(app, late)).toBe('400 invalid_grant expired_challenge');

    const fresh = authenticator.get(await requestOptions(app));
    expect((await postSignIn(app, fresh)).status).toBe(200);
    expect(verdict(app, await postSignIn(app, fresh))).toBe('400 invalid_grant replay');
    expect(await loggedEvents(app, ada, 'passkey_clone_suspected')).toEqual([]);
  });

  test('client data that no browser writes is refused, and spends the challenge that it names', async () => {
    const tokens = await app.login();
    const authenticator = await newPasskey(app, tokens);
    const origin = app.ctx.config.baseUrl;
    const texts = ['null', '7', '[]', '{}', '{', '\ufeff'];
    const flags = [{ crossOrigin: 'true' }, { crossOrigin: null }, { topOrigin: null }];
    const members = [{ challenge: ['a challenge'] }, { origin: { toString: origin } }, { type: 7 }, ...flags];
    for (const wrong of [...texts, ...members]) {
      const options = await requestOptions(app);
      const { challenge } = options;
      const clientDataText =
        typeof wrong === 'string'
          ? wrong
          : JSON.stringify({ type: 'webauthn.get', challenge, origin, ...wrong });
      const refused = await postSignIn(app, authenticator.get(options, { clientDataText }));
      expect([wrong, verdict(app, refused)]).toEqual([wrong, '400 invalid_grant client_data']);
      const retried = outcome(await postSignIn(app, authenticator.get(options)));
      const isSpent = clientDataText.includes(challenge);
      expect([wrong, retried]).toEqual([wrong, isSpent ? '400 invalid_grant' : '200']);
    }
    const good = authenticator.get(await requestOptions(app));
    for (const clientDataJSON of ['not base64url!', 'AAAAA', '/+==', '____']) {
      const json = { ...good, response: { ...good.response, clientDataJSON } };
      expect((await postSignIn(app, json)).body.error).toBe('invalid_grant');
    }
    expect((await postSignIn(app, good)).status).toBe(200);
  });
});

onBothDatabases('passkeys that are copied or removed', (open) => {
  const app = fresh(open);
  const clones = async (tokens: Tokens) =>
    (await loggedEvents(app, tokens, 'passkey_clone_suspected')).map(({ detail }) => detail.login);

  test('a single-device passkey whose counter does not grow is refused and logged', async () => {
    const tokens = await app.login();
    const authenticator = await newPasskey(app, tokens);
    const signIn = async (counter: number) =>
      verdict(app, await postSignIn(app, authenticator.get(await requestOptions(app), { counter })));
    const clone = '400 invalid_grant clone';
    for (const [counter, expected] of [
      ...[0, 0, 5].map((counter) => [counter, '200'] as const),
      ...[5, 4, 0].map((counter) => [counter, clone] as const),
      ...[6, 0xffff_ffff].map((counter) => [counter, '200'] as const),
      [1, clone] as const,
    ])
      expect([counter, await signIn(counter)]).toEqual([counter, expected]);
    expect(await clones(tokens)).toEqual(Array(4).fill('refused'));
  });

  test('a multi-device passkey whose counter does not grow is accepted and logged; each sign-in updates its backup state', async () => {
    const tokens = await app.login();
    const authenticator = await newPasskey(app, tokens, { flags: verified | flag.be });
    const state = async () => {
      const { body } = await app.ask('GET', '/passkeys', { token: tokens.access_token });
      return [body.passkeys[0].device_type, body.passkeys[0].backed_up];
    };
    expect(await state()).toEqual(['multi_device', false]);
    for (const counter of [5, 5, 3, 4, 0, 0]) {
      const forgery = { counter, flags: verified | flag.be | flag.bs };
      const answer = await postSignIn(app, authenticator.get(await requestOptions(app), forgery));
      expect(answer.status).toBe(200);
      expect(await state()).toEqual(['multi_device', true]);
    }
    expect(await clones(tokens)).toEqual(Array(3).fill('accepted'));
  });
});
