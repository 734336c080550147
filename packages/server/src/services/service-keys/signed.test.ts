import { afterEach, expect, setDefaultTimeout, test } from 'bun:test';
import { introspectionJwtType } from '@latchkey/contract/services';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { generateKey } from '../../platform/crypto/key-ring.ts';
import { leadSeconds, rotateSigningKey } from '../signing-keys/signing-keys.ts';
import { createServiceKey } from './service-keys.ts';

setDefaultTimeout(30_000);

const keySet = '.well-known/jwks.json';
const daySeconds = 86_400;
/** Longer than a node goes on with the keys it read. */
const soon = 11;

onBothDatabases('signed introspection', (open) => {
  const apps: TestApp[] = [];
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
  });

  async function start(settings: Record<string, string> = {}) {
    const app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off', ...settings } });
    apps.push(app);
    const { id, secret } = await createServiceKey(app.ctx, 'sessions');
    const headers = { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
    const beside = async (keys = app.keys) => {
      const node = await open({
        beside: app,
        settings: { LATCHKEY_RATE_LIMITS: 'off', LATCHKEY_KEYS: keys },
      });
      apps.push(node);
      return node;
    };
    const ask = (on: TestApp, token: string, accept = introspectionJwtType) =>
      on.ask('POST', '/introspect', { form: { token }, headers: { ...headers, Accept: accept } });
    const signed = async (on: TestApp, token = 'x') => {
      const answer = await ask(on, token);
      expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, introspectionJwtType]);
      return answer.text;
    };
    const verify = (on: TestApp, jwt: string, keys: JSONWebKeySet) =>
      jwtVerify(jwt, createLocalJWKSet(keys), {
        issuer: app.ctx.config.baseUrl,
        audience: id,
        typ: 'token-introspection+jwt',
        algorithms: ['ES256'],
        currentDate: new Date(on.ctx.clock()),
        maxTokenAge: 60,
      });
    return { app, id, beside, ask, signed, verify };
  }
  const keysOf = async (on: TestApp): Promise<JSONWebKeySet> => (await on.ask('GET', keySet)).body;
  const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid!;

  test('is the same answer as a JWT for this service, which verifies under the published keys', async () => {
    const { app, id, ask, signed, verify } = await start();
    const { access_token } = await app.login();
    const plain = (await ask(app, access_token, 'application/json')).body;
    const jwt = await signed(app, access_token);
    const { payload, protectedHeader } = await verify(app, jwt, await keysOf(app));
    expect(payload).toEqual({
      iss: app.ctx.config.baseUrl,
      aud: id,
      iat: expect.any(Number),
      token_introspection: plain,
    });
    expect(plain.active).toBe(true);
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'token-introspection+jwt', kid: kidOf(jwt) });
    const nobody = await verify(app, await signed(app, 'garbage'), await keysOf(app));
    expect(nobody.payload['token_introspection']).toEqual({ active: false });
  });

  test('is given where Accept asks for it and does not like JSON better', async () => {
    const { app, ask } = await start();
    const jwt = [
      introspectionJwtType,
      introspectionJwtType.toUpperCase(),
      `application/json;q=0.5, ${introspectionJwtType}; q=0.9`,
    ];
    const json = [
      '',
      '*/*',
      'application/*',
      'application/jwt',
      `${introspectionJwtType};q=0`,
      `${introspectionJwtType};q=0.1, application/json`,
      `${introspectionJwtType}x`,
    ];
    for (const accept of jwt)
      expect((await ask(app, 'x', accept)).headers.get('Content-Type')).toBe(introspectionJwtType);
    for (const accept of json)
      expect([accept, (await ask(app, 'x', accept)).body]).toEqual([accept, { active: false }]);
  });

  test('shows public keys only, which may be kept for five minutes', async () => {
    const { app } = await start();
    const answer = await app.ask('GET', keySet);
    expect(answer.headers.get('Cache-Control')).toBe('public, max-age=300');
    expect(answer.body.keys).toHaveLength(1);
    expect(Object.keys(answer.body.keys[0]).toSorted()).toEqual([
      'alg',
      'crv',
      'kid',
      'kty',
      'use',
      'x',
      'y',
    ]);
  });

  test('nodes that need the first key at once make one', async () => {
    const { app, beside, signed } = await start();
    const nodes = [app, await beside(), await beside(), await beside()];
    const jwts = await Promise.all(nodes.flatMap((node) => [signed(node), signed(node)]));
    expect(new Set(jwts.map(kidOf)).size).toBe(1);
    expect((await keysOf(nodes[2]!)).keys).toHaveLength(1);
  });

  test('costs two statements more than nothing: the service key and the session', async () => {
    const { app, signed } = await start();
    const { access_token } = await app.login();
    await signed(app, access_token);
    await Bun.sleep(20);
    const before = app.statements.length;
    await signed(app, access_token);
    expect(app.statements.slice(before)).toHaveLength(2);
  });

  test('survives a rotation: no verifier meets a signature that its keys of five minutes ago do not cover', async () => {
    const { app, beside, signed, verify } = await start();
    const other = await beside();
    const first = kidOf(await signed(app));
    await rotateSigningKey(app.ctx, { atOnce: false });
    for (let passed = 0, seen: string[] = []; passed <= leadSeconds + 100; passed += 50) {
      const kept = await keysOf(other);
      app.pass(50);
      const jwt = await signed(app);
      await verify(app, jwt, kept);
      seen = [...seen, kidOf(jwt)];
      if (passed > leadSeconds) expect(kidOf(jwt)).not.toBe(first);
      else if (passed < leadSeconds - 100) expect(kidOf(jwt)).toBe(first);
    }
    const old = await keysOf(app);
    expect(old.keys.map(({ kid }) => kid)).toContain(first);
    app.pass(daySeconds);
    expect((await keysOf(app)).keys.map(({ kid }) => kid)).not.toContain(first);
  });

  test('after a leak, a rotation at once leaves one key, and the next rotation deletes what is out of use', async () => {
    const { app, signed, verify } = await start();
    const stolen = await signed(app);
    await rotateSigningKey(app.ctx, { atOnce: true });
    app.pass(soon);
    const keys = await keysOf(app);
    expect(keys.keys).toHaveLength(1);
    await expect(verify(app, stolen, keys)).rejects.toThrow('no applicable key');
    await verify(app, await signed(app), keys);

    await rotateSigningKey(app.ctx, { atOnce: false });
    app.pass(leadSeconds + daySeconds + soon);
    await rotateSigningKey(app.ctx, { atOnce: false });
    const rows = await app.ctx.db.read.run('SELECT kid FROM signing_keys', []);
    expect(rows).toHaveLength(2);
  });

  test('operators who rotate at once make one key', async () => {
    const { app, beside, signed } = await start();
    await signed(app);
    const nodes = [app, await beside(), await beside()];
    const results = await Promise.allSettled(
      nodes.map((node) => rotateSigningKey(node.ctx, { atOnce: false })),
    );
    const made = results.filter(({ status }) => status === 'fulfilled').length;
    expect((await app.ctx.db.read.run('SELECT kid FROM signing_keys', [])).length).toBe(1 + made);
    for (const result of results)
      if (result.status === 'rejected') expect(String(result.reason)).toContain('just rotated');
  });

  test('goes on with its key through a change of the ring, and beyond the old key of the ring', async () => {
    const [older, newer] = [generateKey(), generateKey()];
    const { app, beside, signed, verify } = await start({ LATCHKEY_KEYS: older });
    const kid = kidOf(await signed(app));
    const both = await beside(`${newer},${older}`);
    expect(kidOf(await signed(both))).toBe(kid);
    const retired = await beside(newer);
    const jwt = await signed(retired);
    expect(kidOf(jwt)).toBe(kid);
    await verify(retired, jwt, await keysOf(retired));
  });

  test('a ring that opens no key makes a new one; signatures of before still verify', async () => {
    const { app, beside, signed, verify } = await start({ LATCHKEY_KEYS: generateKey() });
    const before = await signed(app);
    const foreign = await beside(generateKey());
    const after = await signed(foreign);
    expect(kidOf(after)).not.toBe(kidOf(before));
    const keys = await keysOf(foreign);
    await verify(foreign, after, keys);
    await verify(foreign, before, keys);
  });

  test('no private key is in the store in clear', async () => {
    const { app, signed } = await start();
    await signed(app);
    const [row] = await app.ctx.db.read.run<Record<string, string>>('SELECT * FROM signing_keys', []);
    expect(Object.keys(JSON.parse(row!['public_jwk']!))).not.toContain('d');
    const sealed = Buffer.from(row!['sealed_private']!, 'base64url');
    expect(sealed).toHaveLength(5 + 12 + 32 + 16);
  });

  test('the metadata document names every endpoint of the flows by the issuer it is at', async () => {
    const { app } = await start();
    const answer = await app.ask('GET', '.well-known/oauth-authorization-server');
    const base = app.ctx.config.baseUrl;
    expect(answer.headers.get('Cache-Control')).toBe('public, max-age=300');
    expect(answer.body).toEqual({
      issuer: base,
      token_endpoint: `${base}/api/v1/auth/token`,
      device_authorization_endpoint: `${base}/api/v1/auth/device`,
      revocation_endpoint: `${base}/api/v1/auth/revoke`,
      introspection_endpoint: `${base}/api/v1/auth/introspect`,
      jwks_uri: `${base}/${keySet}`,
      grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      introspection_endpoint_auth_methods_supported: ['client_secret_basic'],
      introspection_signing_alg_values_supported: ['ES256'],
      service_documentation: `${base}/docs`,
    });
    for (const name of Object.keys(answer.body).filter((name) => name.endsWith('_endpoint'))) {
      const path = answer.body[name].slice(base.length + 1);
      expect([name, (await app.ask('GET', path)).status]).toEqual([name, 405]);
    }
  });
});
