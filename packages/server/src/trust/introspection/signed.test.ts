import { expect, test } from 'bun:test';
import { introspectionJwtType } from '@latchkey/contract/services';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { declareService } from '#support/services.ts';
import { generateKey } from '../../platform/crypto/primitives.ts';
import {
  deleteReplacedKeys,
  everyNodeFollowsMs,
  leadSeconds,
  overlapSeconds,
  rotateSigningKey,
} from '../signing-keys/signing-keys.ts';

const keySet = '.well-known/jwks.json';
/** Longer than a node uses the keys it has read. */
const rereadSeconds = 11;

onBothDatabases('signed introspection', (open, dialect) => {
  async function start(settings: Record<string, string> = {}) {
    const app = await open({ settings });
    const { id, authorization } = await declareService(app.ctx);
    const beside = (keys = app.keys) => open({ beside: app, settings: { LATCHKEY_KEYS: keys } });
    const ask = (on: TestApp, token: string, accept = introspectionJwtType) =>
      on.ask('POST', '/introspect', {
        form: { token },
        headers: { Authorization: authorization, Accept: accept },
      });
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
  /** Without the RSA keys of identity tokens, which rotate with these. */
  const keysOf = async (on: TestApp): Promise<JSONWebKeySet> => {
    const { keys } = (await on.ask('GET', keySet)).body as JSONWebKeySet;
    return { keys: keys.filter(({ alg }) => alg === 'ES256') };
  };
  const storedKeys = (on: TestApp) =>
    on.ctx.db.read.run<Record<string, string>>(
      `SELECT * FROM signing_keys WHERE public_jwk LIKE '%"EC"%'`,
      [],
    );
  const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid!;

  test('rotating at once, every signature verifies with the keys of any node, and soon none under the old key; the next rotation deletes unused ones', async () => {
    const { app, beside, signed, verify } = await start();
    const nodes = [app, await beside()];
    const stolen = await signed(app);
    const followSeconds = everyNodeFollowsMs / 1000;
    await rotateSigningKey(app.ctx, { atOnce: true });
    for (let passed = 0; passed < 3 * followSeconds; passed += 1) {
      if (passed === 2 * followSeconds) await deleteReplacedKeys(app.ctx);
      // The nodes read the keys at different times.
      const jwts = [await signed(nodes[passed % 2]!), await signed(nodes[(passed + 1) % 2]!)];
      app.pass(1);
      for (const jwt of jwts) for (const node of nodes) await verify(app, jwt, await keysOf(node));
    }
    for (const node of nodes) {
      const published = await keysOf(node);
      expect(published.keys.map(({ kid }) => kid)).toEqual([kidOf(await signed(node))]);
      await expect(verify(app, stolen, published)).rejects.toThrow('no applicable key');
    }
    await rotateSigningKey(app.ctx, { atOnce: false });
    app.pass(leadSeconds + app.ctx.config.sessionTtlSeconds + rereadSeconds);
    await rotateSigningKey(app.ctx, { atOnce: false });
    expect(await storedKeys(app)).toHaveLength(2);
  });

  test('nodes that concurrently need the first signing key create one, and concurrent rotations one for each that succeeds', async () => {
    const { app, beside, signed } = await start();
    const nodes = [app, await beside(), await beside(), await beside()];
    const jwts = await Promise.all(nodes.flatMap((node) => [signed(node), signed(node)]));
    expect(new Set(jwts.map(kidOf)).size).toBe(1);
    expect((await keysOf(nodes[2]!)).keys).toHaveLength(1);
    const results = await Promise.allSettled(
      nodes.map((node) => rotateSigningKey(node.ctx, { atOnce: false })),
    );
    const created = results.filter(({ status }) => status === 'fulfilled').length;
    expect((await storedKeys(app)).length).toBe(1 + created);
    for (const result of results)
      if (result.status === 'rejected') expect(String(result.reason)).toContain('just rotated');
  });

  // The others are about the form and the encryption of what the same statements store.
  if (dialect === 'postgres') return;

  test('a signed introspection is the plain one in a JWT for this service, under a key stored encrypted, and verifies with the published keys', async () => {
    const { app, id, ask, signed, verify } = await start();
    const { access_token } = await app.login();
    const plain = (await ask(app, access_token, 'application/json')).body;
    const jwt = await signed(app, access_token);
    const { payload, protectedHeader } = await verify(app, jwt, await keysOf(app));
    // Private keys are stored encrypted.
    const [row] = await storedKeys(app);
    expect(row!['public_jwk']).not.toContain('"d"');
    expect(Buffer.from(row!['sealed_private']!, 'base64url')).toHaveLength(5 + 12 + 51 + 16);
    expect(payload).toEqual({
      iss: app.ctx.config.baseUrl,
      aud: id,
      iat: expect.any(Number),
      token_introspection: plain,
    });
    expect(plain.active).toBe(true);
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'token-introspection+jwt', kid: kidOf(jwt) });
    const inactive = await verify(app, await signed(app, 'garbage'), await keysOf(app));
    expect(inactive.payload['token_introspection']).toEqual({ active: false });
    // What a header prefers, in general: platform/values/accept.test.ts.
    for (const [accept, type] of [
      [introspectionJwtType.toUpperCase(), introspectionJwtType],
      [`application/json;q=0.5, ${introspectionJwtType}; q=0.9`, introspectionJwtType],
      ['*/*', 'application/json'],
    ] as const)
      expect((await ask(app, 'x', accept)).headers.get('Content-Type')).toStartWith(type);
  });

  test('during a rotation every signature verifies with a key set cached before it', async () => {
    const { app, beside, signed, verify } = await start();
    const other = await beside();
    const first = kidOf(await signed(app));
    await rotateSigningKey(app.ctx, { atOnce: false });
    for (let passed = 0; passed <= leadSeconds + 100; passed += 50) {
      const cached = await keysOf(other);
      app.pass(50);
      const jwt = await signed(app);
      await verify(app, jwt, cached);
      if (passed > leadSeconds) expect(kidOf(jwt)).not.toBe(first);
      else if (passed < leadSeconds - 100) expect(kidOf(jwt)).toBe(first);
    }
    const afterwards = await keysOf(app);
    expect(afterwards.keys.map(({ kid }) => kid)).toContain(first);
    app.pass(overlapSeconds);
    expect((await keysOf(app)).keys.map(({ kid }) => kid)).not.toContain(first);
  });

  test('the signing key survives that the server keys rotate and the old one goes; a node that cannot decrypt it creates another, and earlier signatures still verify', async () => {
    const [older, newer] = [generateKey(), generateKey()];
    const { app, beside, signed, verify } = await start({ LATCHKEY_KEYS: older });
    const before = await signed(app);
    expect(kidOf(await signed(await beside(`${newer},${older}`)))).toBe(kidOf(before));
    const retired = await beside(newer);
    const jwt = await signed(retired);
    expect(kidOf(jwt)).toBe(kidOf(before));
    await verify(retired, jwt, await keysOf(retired));
    const foreign = await beside(generateKey());
    const after = await signed(foreign);
    expect(kidOf(after)).not.toBe(kidOf(before));
    const keys = await keysOf(foreign);
    await verify(foreign, after, keys);
    await verify(foreign, before, keys);
  });
});
