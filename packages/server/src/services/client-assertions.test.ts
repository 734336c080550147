// Clients that describe themselves and sign their requests to the token endpoint.

import { beforeEach, describe, expect, test } from 'bun:test';
import { SignJWT, UnsecuredJWT } from 'jose';
import { outcome } from '#support/account.ts';
import { type Ask, openApp, type TestApp, type Tokens } from '#support/app.ts';
import { codeFor, redeem, redirectUri, requestOf } from '#support/authorize.ts';
import { newSigningKey } from '#support/issuer.ts';
import { declareService } from '#support/services.ts';
import { fresh } from '#support/shared.ts';

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const tokenPath = '/api/v1/auth/token';

type SigningKey = Awaited<ReturnType<typeof newSigningKey>>;

/** What the host of the client answers, by path, and how often it was asked. */
let published: Record<string, unknown>;
let asked: Record<string, number>;
const host = fresh(async () => {
  [published, asked] = [{}, {}];
  const fetch = ({ url }: Request) => {
    const { pathname } = new URL(url);
    asked[pathname] = (asked[pathname] ?? 0) + 1;
    const json = published[pathname];
    return json === undefined ? new Response(null, { status: 503 }) : Response.json(json);
  };
  return Bun.serve({ hostname: '127.0.0.1', port: 0, fetch });
});
const t = fresh(() => openApp('sqlite', { settings: { LATCHKEY_CLIENT_HOSTS: `127.0.0.1:${host.port}` } }));
let ada: Tokens;
let key: SigningKey;
let clientId: string;
beforeEach(async () => {
  ada = await t.login();
  key = await newSigningKey();
  clientId = `http://127.0.0.1:${host.port}/client`;
});

const publish = (keys: readonly SigningKey[], byUri: boolean) => {
  const jwks = { keys: keys.map(({ publicJwk }) => publicJwk) };
  published['/client'] = {
    client_id: clientId,
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'private_key_jwt',
    ...(byUri ? { jwks_uri: `http://127.0.0.1:${host.port}/jwks` } : { jwks }),
  };
  if (byUri) published['/jwks'] = jwks;
};

interface Signing {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly key?: SigningKey;
  readonly header?: Readonly<Record<string, unknown>>;
}

const claimsNow = (changed: Readonly<Record<string, unknown>> = {}) => {
  const now = Math.floor(t.ctx.clock() / 1000);
  const { baseUrl } = t.ctx.config;
  return { iss: clientId, sub: clientId, aud: baseUrl, exp: now + 60, iat: now, jti: 'once', ...changed };
};

const assertionOf = ({ claims = {}, key: by = key, header = {} }: Signing = {}): Promise<string> =>
  new SignJWT(claimsNow(claims))
    .setProtectedHeader({ alg: by.alg, kid: by.kid, ...header })
    .sign(by.privateKey);

const proof = async (how?: Signing) => ({
  client_id: clientId,
  client_assertion_type: assertionType,
  client_assertion: await assertionOf(how),
});

const newCode = () => codeFor(t, ada, requestOf(clientId));

/** The outcome of redeeming a code: a new one, unless it is given. */
const redeemed = async (how?: Signing, code?: string) =>
  outcome(await redeem(t, code ?? (await newCode()), await proof(how)));

const form = (path: string, fields: Record<string, string>) => t.ask('POST', path, { form: fields });

const refresh = (refresh_token: string, fields: Record<string, string> = {}, path = '/token') =>
  form(path, { grant_type: 'refresh_token', refresh_token, ...fields });

describe.each([
  ['jwks', false],
  ['jwks_uri', true],
] as const)('a client with %s', (_, byUri) => {
  test.each(['RS256', 'ES256', 'EdDSA'])('signs its requests with %s', async (alg) => {
    key = await newSigningKey(alg);
    publish([await newSigningKey(), key], byUri);
    const code = await newCode();
    const { body: tokens } = await redeem(t, code, await proof());
    const { body: first } = await refresh(tokens.refresh_token, await proof());
    // Its id may be in the assertion alone.
    const { client_id: _, ...unnamed } = await proof();
    const { body: second } = await refresh(first.refresh_token, unnamed, '/refresh');
    const revoked = await form('/revoke', { token: second.refresh_token, ...(await proof()) });
    expect(outcome(revoked)).toBe('200');
    expect(outcome(await refresh(second.refresh_token, await proof()))).toBe('400 invalid_grant');
    expect(outcome(await t.ask('GET', '/me', { token: second.access_token }))).toBe('401 invalid_token');
  });

  // How often it is asked for: sessions/federation/issuers.test.ts, where the keys of issuers are kept in the same way.
  test('changes its keys: an unknown one is asked for at once, and one that was removed is good for nothing', async () => {
    publish([key], byUri);
    expect(await redeemed()).toBe('200');
    const path = byUri ? '/jwks' : '/client';
    const before = asked[path]!;
    const old = key;
    key = await newSigningKey();
    publish([key], byUri);
    for (const [by, expected] of [
      [key, '200'],
      [old, '400 invalid_client'],
    ] as const)
      expect(await redeemed({ key: by })).toBe(expected);
    expect(asked[path]).toBe(before + 1);
  });
});

test('somebody at the limit of fetches does not use up the one for a new key; a repeated code that meets it, or no document, is no theft', async () => {
  publish([key], true);
  const limits = { LATCHKEY_CLIENT_HOSTS: new URL(clientId).host, LATCHKEY_RATE_LIMITS: 'on' };
  const limited = await openApp('sqlite', { beside: t, settings: limits });
  const code = await newCode();
  const ask = async (how: Signing, peer: string) =>
    outcome(await redeem(limited, code, { ...(await proof(how)), code_verifier: undefined }, { peer }));
  const stranger = await newSigningKey();
  const useUp = async (by: TestApp, peer: string) => {
    for (let fetches = 0; fetches < 30; fetches++)
      await by.ask('GET', `authorize?client_id=${clientId}${fetches}`, { peer });
  };
  await useUp(limited, '198.51.100.1');
  expect(await ask({}, '192.0.2.1')).toBe('400 invalid_request');
  expect(await ask({ key: stranger }, '198.51.100.1')).toBe('429 rate_limited');
  key = await newSigningKey();
  publish([key], true);
  expect(await ask({}, '192.0.2.1')).toBe('400 invalid_request');
  const redeemOnce = async (by: TestApp, peer: string) =>
    redeem(by, code, await proof(), { peer, headers: { 'Idempotency-Key': 'once' } });
  const { body } = await redeemOnce(limited, '192.0.2.1');
  delete published['/client'];
  const withoutDocument = await openApp('sqlite', { beside: t, settings: limits });
  await useUp(withoutDocument, '198.51.100.1');
  for (const [peer, expected] of [
    ['198.51.100.1', '429 rate_limited'],
    ['192.0.2.1', '503 temporarily_unavailable'],
  ] as const)
    expect(outcome(await redeemOnce(withoutDocument, peer))).toBe(expected);
  expect((await redeemOnce(limited, '192.0.2.1')).body.refresh_token).toBe(body.refresh_token);
});

test('an Ed25519 key is good under either name, and without a kid any key that fits is tried', async () => {
  key = await newSigningKey('EdDSA');
  const others = [await newSigningKey('EdDSA'), await newSigningKey('ES256')];
  publish([...others, key], false);
  for (const alg of ['EdDSA', 'Ed25519'])
    for (const kid of [key.kid, undefined]) expect(await redeemed({ header: { alg, kid } })).toBe('200');
});

test('without an assertion nothing is spent, at any endpoint and in any dialect', async () => {
  publish([key], true);
  const named = { client_id: clientId };
  const code = await newCode();
  expect(outcome(await redeem(t, code, named))).toBe('400 invalid_client');
  const { body: tokens } = await redeem(t, code, await proof());
  const { refresh_token } = tokens;
  const asJson = (more: object) => t.ask('POST', '/refresh', { json: { refresh_token, ...more } });
  for (const answer of [
    await refresh(refresh_token, named),
    await refresh(refresh_token, named, '/refresh'),
    await asJson(named),
    await form('/revoke', { token: refresh_token, ...named }),
  ])
    expect(outcome(answer)).toBe('400 invalid_client');
  expect(outcome(await asJson({}))).toBe('400 invalid_grant');
  expect(outcome(await asJson(await proof()))).toBe('200');
});

test('a wrong assertion is invalid_client and spends nothing; a good one may be shown again', async () => {
  publish([key], true);
  const code = await newCode();
  const { baseUrl } = t.ctx.config;
  const now = Math.floor(t.ctx.clock() / 1000);
  // Other claims and spellings: platform/values/assertion.test.ts.
  const claims = [{ iss: 'https://other.example/client' }, { sub: 'usr_somebody' }, { exp: now + 362 }];
  const wrong = await Promise.all([
    ...[...claims, { iss: undefined }, { sub: undefined }].map((claims) => assertionOf({ claims })),
    assertionOf({ key: await newSigningKey('RS256', key.kid) }),
    new SignJWT(claimsNow()).setProtectedHeader({ alg: 'HS256' }).sign(new Uint8Array(32)),
    new UnsecuredJWT(claimsNow()).encode(),
    'text',
  ]);
  for (const client_assertion of wrong)
    expect([
      client_assertion,
      outcome(await redeem(t, code, { ...(await proof()), client_assertion })),
    ]).toEqual([client_assertion, '400 invalid_client']);
  for (const claims of [{ aud: [baseUrl + tokenPath], exp: now + 300 }, { iat: undefined }])
    for (let times = 0; times < 2; times++) expect(await redeemed({ claims })).toBe('200');
  expect(await redeemed({}, code)).toBe('200');
});

test('an assertion beside a service key, of another type or of a client that does not sign is invalid_request', async () => {
  publish([key], true);
  const { id, secret, authorization } = await declareService(t.ctx, {
    name: 'Charts',
    redirectUris: [redirectUri],
  });
  const code = await newCode();
  const signed = await proof();
  const { client_assertion, client_assertion_type } = signed;
  const requests: [Record<string, string>, Ask?][] = [
    [{ ...signed, client_secret: secret }],
    [{ client_assertion, client_assertion_type }, { headers: { Authorization: authorization } }],
    [{ client_id: clientId, client_assertion }],
    [{ client_id: clientId, client_assertion_type }],
    [{ ...signed, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' }],
    [{ ...signed, client_id: id }],
    [{ ...signed, client_id: 'latchkey-cli' }],
  ];
  for (const [fields, ask] of requests)
    expect([fields, outcome(await redeem(t, code, fields, ask))]).toEqual([fields, '400 invalid_request']);
  expect(outcome(await redeem(t, code, signed))).toBe('200');
  const client_id = clientId.replace('/client', '/public');
  published['/public'] = { client_id, redirect_uris: [redirectUri] };
  expect(outcome(await redeem(t, code, { ...signed, client_id }))).toBe('400 invalid_request');
});

test('while the document or the keys cannot be fetched, nothing is spent', async () => {
  publish([key], true);
  const code = await newCode();
  const { '/client': document, '/jwks': jwks } = published;
  delete published['/jwks'];
  expect(await redeemed({}, code)).toBe('503 temporarily_unavailable');
  published['/jwks'] = { keys: [{ ...(await newSigningKey()).publicJwk, d: 'secret' }] };
  expect(await redeemed({}, code)).toBe('503 temporarily_unavailable');
  published['/jwks'] = jwks;
  const { body } = await redeem(t, code, await proof());
  t.pass(301);
  delete published['/client'];
  for (const fields of [await proof(), { client_id: clientId }])
    expect(outcome(await refresh(body.refresh_token, fields))).toBe('503 temporarily_unavailable');
  published['/client'] = document;
  expect(outcome(await refresh(body.refresh_token, await proof()))).toBe('200');
});

// Where no hosts are listed: trust/discovery/discovery.test.ts.
test('discovery names the method where hosts are listed', async () => {
  const algorithms = ['RS256', 'ES256', 'EdDSA', 'Ed25519'];
  expect((await t.ask('GET', '.well-known/oauth-authorization-server')).body).toMatchObject({
    token_endpoint_auth_methods_supported: expect.arrayContaining(['private_key_jwt']),
    revocation_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
  });
});
