import { beforeEach, describe, expect, test } from 'bun:test';
import { openApp, type TestApp } from '#support/app.ts';
import { githubClaims, newSigningKey, startIssuer, type TestIssuer } from '#support/issuer.ts';
import { type Issuers, openIssuers } from './federation.ts';

const day = 86_400;
const discoveryPath = '/.well-known/openid-configuration';

describe('the keys of an issuer', () => {
  let app: TestApp;
  let issuer: TestIssuer;
  let issuers: Issuers;
  beforeEach(async () => {
    app = await openApp('sqlite');
    issuer = await startIssuer();
    issuers = openIssuers(app.ctx);
  });

  const sign = (how: Parameters<TestIssuer['sign']>[1] = {}) =>
    issuer.sign(githubClaims('x'), { now: app.ctx.clock(), ...how });
  const verify = async (how: Parameters<TestIssuer['sign']>[1] = {}) =>
    issuers.verify(issuer.url, await sign(how));
  const asked = () => issuer.requests.filter((path) => path === '/jwks').length;
  const fail = () => {
    issuer.answer = () => new Response(null, { status: 503 });
  };
  const recover = () => {
    issuer.answer = undefined;
  };

  test('are asked for once, for many requests at the same time, and kept for 10 minutes, even if it removes one', async () => {
    const old = issuer.keys[0]!;
    expect(await Promise.all(Array.from({ length: 20 }, () => verify()))).toEqual(Array(20).fill('valid'));
    issuer.keys = [await newSigningKey()];
    app.pass(599);
    expect(await verify({ key: old })).toBe('valid');
    expect(issuer.requests).toEqual([discoveryPath, '/jwks']);
    app.pass(1);
    expect([await verify({ key: old }), await verify()]).toEqual(['invalid', 'valid']);
  });

  test('are asked for again for an unknown kid: at once, then at most once a minute', async () => {
    expect(await verify()).toBe('valid');
    const second = await issuer.addKey();
    expect(await Promise.all([verify(), verify({ key: second })])).toEqual(['valid', 'valid']);
    expect(asked()).toBe(2);
    const third = await issuer.addKey();
    const stranger = await newSigningKey();
    for (let times = 0; times < 10; times++) expect(await verify({ key: stranger })).toBe('invalid');
    expect([await verify({ key: third }), asked()]).toEqual(['invalid', 2]);
    app.pass(60);
    expect([await verify({ key: third }), asked()]).toEqual(['valid', 3]);
    // Known keys go on meanwhile.
    expect([await verify({ key: second }), asked()]).toEqual(['valid', 3]);
  });

  test('are used for a day while the issuer is out of reach, which is asked once a minute, also while there are none, and for unknown ones', async () => {
    fail();
    for (let times = 0; times < 10; times++) expect(await verify()).toBe('unavailable');
    expect(issuer.requests).toEqual([discoveryPath]);
    recover();
    app.pass(60);
    expect(await verify()).toBe('valid');
    fail();
    app.pass(600);
    issuer.requests.length = 0;
    const stranger = await newSigningKey();
    for (let times = 0; times < 10; times++)
      expect([await verify({ key: stranger }), await verify()]).toEqual(['invalid', 'valid']);
    expect(issuer.requests).toEqual([discoveryPath]);
    app.pass(60);
    expect(await verify()).toBe('valid');
    expect(issuer.requests).toHaveLength(2);
    app.pass(day - 661);
    expect(await verify()).toBe('valid');
    app.pass(1);
    expect(await verify()).toBe('unavailable');
    recover();
    app.pass(60);
    expect(await verify()).toBe('valid');
  });

  /** Lets the issuer answer at one path with something else. */
  const instead = (at: string, answer: () => Response) => {
    issuer.answer = (path) => (path === at ? answer() : undefined);
  };
  const keySet = (changed: object = {}) =>
    Response.json({ keys: issuer.keys.map(({ publicJwk }) => publicJwk), ...changed });
  const discovery = (changed: object) =>
    Response.json({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, ...changed });

  test('are known from a list with entries that are no keys', async () => {
    const good = issuer.keys.map(({ publicJwk }) => publicJwk);
    instead('/jwks', () => keySet({ keys: [null, 'x', ['y'], {}, ...good, 5] }));
    expect(await verify()).toBe('valid');
  });

  // What of a response is not read: platform/outgoing/fetch-document.test.ts.
  const elsewhere = [undefined, 'https://10.0.0.1/jwks', 'http://192.0.2.1/jwks', 'file:///etc/passwd'];
  test.each<[what: string, at: string, () => Response]>([
    ['an error', '/jwks', () => new Response(null, { status: 500 })],
    ['an error', discoveryPath, () => new Response(null, { status: 500 })],
    ['more than 512 KiB', '/jwks', () => keySet({ more: 'x'.repeat(512 * 1024) })],
    ['keys that are no list', '/jwks', () => keySet({ keys: 'x' })],
    ['another issuer', discoveryPath, () => discovery({ issuer: 'https://other.example' })],
    ['another spelling', discoveryPath, () => discovery({ issuer: `${issuer.url}/` })],
    ['no issuer', discoveryPath, () => discovery({ issuer: undefined })],
    ...elsewhere.map((jwks_uri): [string, string, () => Response] => [
      `keys at ${jwks_uri}`,
      discoveryPath,
      () => discovery({ jwks_uri }),
    ]),
  ])('are not known from %s at %s, which keeps the last good ones', async (_, at, answer) => {
    instead(at, answer);
    expect(await verify()).toBe('unavailable');
    recover();
    app.pass(60);
    expect(await verify()).toBe('valid');
    instead(at, answer);
    app.pass(600);
    expect(await verify()).toBe('valid');
  });

  test('are not waited for longer than 5 seconds', async () => {
    issuer.answer = () => new Promise(() => {});
    expect(await verify()).toBe('unavailable');
  });

  const hmacKey = (secret: Buffer<ArrayBuffer>) =>
    crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);

  test('verify nothing of another kind: secrets, weak keys, points that are not on the curve, two keys of one kid', async () => {
    const own = issuer.keys[0]!;
    const { access_token: token } = await app.login();
    const secret = Buffer.from('a secret that everybody knows, 32+');
    const shared = { kty: 'oct', k: secret.toString('base64url'), kid: 'shared', alg: 'HS256' };
    const symmetric = { ...shared, privateKey: await hmacKey(secret), publicJwk: {} };
    const onCurve = await newSigningKey('ES256', 'point');
    const zero = Buffer.alloc(32).toString('base64url');
    for (const [key, ...keys] of [
      [symmetric, shared],
      [own, own.publicJwk, { ...(await newSigningKey()).publicJwk, kid: own.kid }],
      [own, { ...own.publicJwk, use: 'enc' }],
      [own, { ...own.publicJwk, n: 'AQAB' }],
      [onCurve, { ...onCurve.publicJwk, x: zero, y: zero }],
      [onCurve, { ...onCurve.publicJwk, x: null }],
    ] as const) {
      instead('/jwks', () => keySet({ keys }));
      expect([keys, await verify({ key })]).toEqual([keys, 'invalid']);
      // A key that is none breaks no other request.
      expect((await app.ask('GET', '/me', { token })).status).toBe(200);
      app.pass(600);
    }
  });

  // Tokens without a signature: services/client-assertions.test.ts.
  test('verify only what they signed, with an algorithm of assertions', async () => {
    const own = issuer.keys[0]!;
    const publicKey = await hmacKey(Buffer.from(JSON.stringify(own.publicJwk)));
    const stranger = await newSigningKey('RS256', own.kid);
    // Published without its algorithm, it could verify others.
    const stronger = await newSigningKey('RS512');
    const { alg: _, ...withoutAlgorithm } = stronger.publicJwk;
    issuer.keys.push({ ...stronger, publicJwk: withoutAlgorithm });
    const header = { jwk: stranger.publicJwk, jku: `${issuer.url}/jwks`, kid: undefined };
    const [head, payload] = (await sign()).split('.');
    for (const token of [
      sign({ key: stranger }),
      sign({ key: stranger, header }),
      sign({ key: stronger }),
      sign({ key: { ...own, alg: 'HS256', privateKey: publicKey } }),
      `${head}.${payload}.${(await sign({ now: 0 })).split('.')[2]}`,
    ])
      expect(await issuers.verify(issuer.url, await token)).toBe('invalid');
    expect(await verify()).toBe('valid');
  });
});

test('with a public base URL, neither http nor a private address is asked', async () => {
  const issuer = await startIssuer();
  const app = await openApp('sqlite', { settings: { LATCHKEY_BASE_URL: 'https://auth.example.com' } });
  expect(await openIssuers(app.ctx).verify(issuer.url, await issuer.sign({}))).toBe('unavailable');
  const resolving = openIssuers(app.ctx, async () => ['10.0.0.7']);
  expect(await resolving.verify('https://ci.example', await issuer.sign({}))).toBe('unavailable');
  expect(issuer.requests).toEqual([]);
});
