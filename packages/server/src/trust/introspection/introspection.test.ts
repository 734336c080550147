import { beforeAll, describe, expect, test } from 'bun:test';
import { introspection, introspectionJwtType } from '@latchkey/contract/services';
import {
  addPasskey,
  newAddress,
  newAuthenticator,
  passkeyLogin,
} from '../../../../../tests/support/account.ts';
import { onBothDatabases, type Tokens } from '../../../../../tests/support/app.ts';
import { createdKey } from '../../../../../tests/support/keys.ts';
import { addMember, createOrganization } from '../../../../../tests/support/organizations.ts';
import { basic, declareService, untilServiceUsed } from '../../../../../tests/support/services.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import { type HandleKind, handlePrefix, mintHandle } from '../../platform/crypto/handle.ts';
import { generateKey, parseKeyRing } from '../../platform/crypto/primitives.ts';

const inactive = { active: false };

onBothDatabases('introspection', (open) => {
  const app = shared(open);
  let key: string;
  beforeAll(async () => {
    key = (await declareService(app.ctx)).key;
  });

  const ask = (form: Record<string, string> | string, headers: Record<string, string> = {}) =>
    app.ask('POST', '/introspect', { form, headers: { Authorization: basic(key), ...headers } });
  const introspect = async (token: string) => {
    const answer = await ask({ token });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const profileOf = async ({ access_token: token }: Tokens) => (await app.ask('GET', '/me', { token })).body;

  test('an active access token is described by its user, session, sign-in, issue and expiry', async () => {
    const before = Math.floor(app.ctx.clock() / 1000);
    const tokens = await app.login(newAddress());
    const after = Math.floor(app.ctx.clock() / 1000);
    const answer = await ask({ token: tokens.access_token });
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    const found = introspection.parse(answer.body);
    if (!found.active) throw new Error('inactive');
    const [session] = (await app.ask('GET', '/sessions', { token: tokens.access_token })).body.sessions;
    expect(found).toEqual({
      active: true,
      token_use: 'access_token',
      token_type: 'Bearer',
      iss: app.ctx.config.baseUrl,
      sub: (await profileOf(tokens)).id,
      sid: session.id,
      iat: found.iat,
      exp: found.exp,
      auth_time: found.iat,
      amr: ['otp'],
      session_kind: 'browser',
      scope: '*',
      name: expect.any(String),
      organizations: [{ id: expect.any(String), slug: expect.any(String), role: 'owner' }],
    });
    expect(found.iat).toBeGreaterThanOrEqual(before);
    expect(found.iat).toBeLessThanOrEqual(after);
    expect(found.exp - found.iat).toBe(14_400);
  });

  test('a refresh token is described as one, without being spent', async () => {
    const tokens = await app.login(newAddress());
    for (let n = 0; n < 3; n++) {
      const found = await introspect(tokens.refresh_token);
      expect(found).toMatchObject({
        active: true,
        token_use: 'refresh_token',
        sub: (await profileOf(tokens)).id,
      });
      expect(found.token_type).toBeUndefined();
      expect(found.exp - found.iat).toBe(30 * 86_400);
    }
    const { refresh_token } = tokens;
    const refreshed = await app.ask('POST', '/refresh', { json: { refresh_token } });
    expect(refreshed.status).toBe(200);
    expect(await introspect(refresh_token)).toEqual(inactive);
    expect(await introspect(refreshed.body.refresh_token)).toMatchObject({ active: true });
    expect(await profileOf(refreshed.body)).toMatchObject({ id: expect.any(String) });
  });

  test('a session by device code has no auth_time, amr or acr', async () => {
    const browser = await app.login(newAddress());
    const found = await introspect((await app.deviceLogin(browser)).access_token);
    expect(found).toMatchObject({ active: true, session_kind: 'device', sub: (await profileOf(browser)).id });
    expect([found.auth_time, found.amr, found.acr]).toEqual([undefined, undefined, undefined]);
  });

  test('a session by passkey has acr phr and the time of its sign-in, as step-up authentication needs', async () => {
    const tokens = await app.login(newAddress());
    const token = tokens.access_token;
    const authenticator = newAuthenticator(app);
    await addPasskey(app, tokens, authenticator);
    app.pass(3600);
    const signedIn = await passkeyLogin(app, authenticator);
    expect(signedIn.status).toBe(200);
    const found = await introspect(signedIn.body.access_token);
    expect(found).toMatchObject({ acr: 'phr', amr: ['pop', 'user', 'mfa'], session_kind: 'browser' });
    const { refresh_token } = signedIn.body;
    app.pass(600);
    const refreshed = await app.ask('POST', '/refresh', { json: { refresh_token } });
    const later = await introspect(refreshed.body.access_token);
    expect(later.auth_time).toBe(found.auth_time);
    expect(later.iat - found.iat).toBeGreaterThanOrEqual(600);
    expect(found.auth_time - (await introspect(token)).auth_time).toBeGreaterThanOrEqual(3600);
  });

  test('an access token is inactive after four hours, a refresh token after thirty days', async () => {
    const tokens = await app.login(newAddress());
    app.pass(14_399);
    expect((await introspect(tokens.access_token)).active).toBe(true);
    app.pass(2);
    expect(await introspect(tokens.access_token)).toEqual(inactive);
    expect((await introspect(tokens.refresh_token)).active).toBe(true);
    app.pass(30 * 86_400);
    expect(await introspect(tokens.refresh_token)).toEqual(inactive);
  });

  test('a forged, foreign or malformed token costs no query besides the one for the service key', async () => {
    const app = await open();
    const { id, key } = await declareService(app.ctx);
    const introspect = async (token: string) =>
      (await app.ask('POST', '/introspect', { form: { token }, headers: { Authorization: basic(key) } }))
        .body;
    const { access_token } = await app.login();
    // The first use is recorded, which is not waited for, and for the rest of the test no other.
    await introspect(access_token);
    await untilServiceUsed(app, id);
    const handle = { subject: Buffer.alloc(16, 7), value: app.ctx.clock() + 1_000_000 };
    const foreign = parseKeyRing(generateKey());
    const others = (Object.keys(handlePrefix) as HandleKind[]).filter(
      (kind) => !/^(accessToken|refreshToken|accessKey)$/.test(kind),
    );
    const strings = [
      'x',
      'garbage '.repeat(125),
      '\0\u{1f511}',
      access_token.slice(0, -1),
      `${access_token}=`,
      access_token.replace('lk_at_', 'lk_rt_'),
      mintHandle(foreign, 'accessToken', handle),
      mintHandle(foreign, 'refreshToken', handle),
      mintHandle(foreign, 'accessKey', handle),
      mintHandle(app.ctx.keys, 'accessToken', { ...handle, value: app.ctx.clock() - 1 }),
      mintHandle(app.ctx.keys, 'accessKey', { ...handle, value: app.ctx.clock() - 1 }),
      ...others.map((kind) => mintHandle(app.ctx.keys, kind, handle)),
      key,
      key.split(':')[1]!,
    ];
    for (const token of strings) {
      const before = app.statements.length;
      expect([token, await introspect(token)]).toEqual([token, inactive]);
      expect([token, app.statements.slice(before).length]).toEqual([token, 1]);
      expect(app.statements.at(-1)).toContain('service_keys');
    }
    const before = app.statements.length;
    expect((await introspect(access_token)).active).toBe(true);
    // The service key, the session, and the user with their organizations.
    expect(app.statements.slice(before)).toHaveLength(3);
    expect(await introspect(mintHandle(app.ctx.keys, 'accessToken', handle))).toEqual(inactive);
  });

  test('token_type_hint does not change the answer', async () => {
    const tokens = await app.login(newAddress());
    for (const token_type_hint of ['access_token', 'refresh_token', 'nonsense', '']) {
      for (const token of [tokens.access_token, tokens.refresh_token]) {
        expect((await ask({ token, token_type_hint })).body.active).toBe(true);
      }
    }
  });

  test('requests may be JSON or forms', async () => {
    const { access_token: token } = await app.login(newAddress());
    const headers = { Authorization: basic(key) };
    const json = await app.ask('POST', '/introspect', { json: { token }, headers });
    expect(json.body).toEqual(await introspect(token));
  });

  describe('what a service learns about the user', () => {
    const told = ['name', 'organizations', 'organizations_truncated', 'email', 'email_verified'];
    const toldAbout = async (
      token: string,
      service: { authorization: string },
      accept = 'application/json',
    ) => {
      const headers = { Authorization: service.authorization, Accept: accept };
      const { body, text } = await app.ask('POST', '/introspect', { form: { token }, headers });
      const response =
        body ?? JSON.parse(Buffer.from(text.split('.')[1]!, 'base64url').toString()).token_introspection;
      return Object.fromEntries(Object.entries(response).filter(([name]) => told.includes(name)));
    };

    test('follows the scope of the token, and the right users shows it all, plain and signed', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      const { id: userId, name } = await profileOf(owner);
      const plain = await declareService(app.ctx, {
        name: 'Plain',
        scopes: [{ name: 'plain:read', sentence: 'Read' }],
        rights: ['organizations', 'feed', 'delegate'],
      });
      const reader = await declareService(app.ctx, { name: 'Reader', rights: ['users'] });
      const slug = `facts-${userId
        .slice(-8)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/g, 'x')}`;
      const id = await createOrganization(app.ctx, slug, 'Facts');
      await addMember(app.ctx, slug, userId, 'admin');
      const organizations = [
        { id: expect.stringMatching(/^org_/), slug: expect.any(String), role: 'owner' },
        { id, slug, role: 'admin' },
      ];
      const all = { name, organizations, email, email_verified: true };
      for (const [scope, expected] of [
        ['*', { name, organizations }],
        ['profile', { name }],
        ['email', {}],
        ['organizations', { organizations }],
        ['profile organizations email', { name, organizations }],
        ['openid offline_access plain:read', {}],
      ] as const) {
        const { key: token } = await createdKey(app, owner, { scope });
        for (const accept of ['application/json', introspectionJwtType]) {
          expect([scope, await toldAbout(token, plain, accept)]).toEqual([scope, expected]);
          expect([scope, await toldAbout(token, reader, accept)]).toEqual([scope, all]);
        }
      }
      expect(await toldAbout(owner.refresh_token, reader)).toEqual(all);
    });

    test('lists at most 100 organizations, the personal one first, and says that there are more', async () => {
      const owner = await app.login(newAddress());
      const { id: userId } = await profileOf(owner);
      const service = await declareService(app.ctx);
      for (let n = 0; n < 99; n++) {
        await createOrganization(app.ctx, `many-${n}`, `Many ${n}`);
        await addMember(app.ctx, `many-${n}`, userId, 'member');
      }
      // Older than all others, but not the personal one.
      await app.ctx.db.single.run(
        `UPDATE memberships SET joined_at = 1 WHERE organization_id = (SELECT id FROM organizations WHERE slug = 'many-50')`,
        [],
      );
      const before = (await introspect(owner.access_token)).organizations;
      expect(before).toHaveLength(100);
      expect(before[0].role).toBe('owner');
      expect(before[1].slug).toBe('many-50');
      expect(await toldAbout(owner.access_token, service)).not.toHaveProperty('organizations_truncated');
      await createOrganization(app.ctx, 'many-99', 'Many 99');
      await addMember(app.ctx, 'many-99', userId, 'member');
      expect(await toldAbout(owner.access_token, service)).toMatchObject({
        organizations: before,
        organizations_truncated: true,
      });
    });

    test('costs one statement, and none if the scope shows nothing', async () => {
      const owner = await app.login(newAddress());
      const { id, authorization } = await declareService(app.ctx);
      for (const [scope, statements] of [
        ['email', 2],
        ['profile', 3],
        ['*', 3],
      ] as const) {
        const { key: token } = await createdKey(app, owner, { scope });
        const ask = () =>
          app.ask('POST', '/introspect', { form: { token }, headers: { Authorization: authorization } });
        await ask();
        await untilServiceUsed(app, id);
        const before = app.statements.length;
        await ask();
        expect([scope, app.statements.length - before]).toEqual([scope, statements]);
      }
    });

    test('a token bound to a resource is active to the service of that resource only', async () => {
      const owner = await app.login(newAddress());
      const resource = 'https://bound.example/api';
      const service = await declareService(app.ctx, { resource });
      const others = [
        await declareService(app.ctx, { resource: `${resource}/` }),
        await declareService(app.ctx, { rights: ['users'] }),
      ];
      const { key: token } = await createdKey(app, owner, { resource });
      const ask = async ({ authorization }: { authorization: string }) =>
        (await app.ask('POST', '/introspect', { form: { token }, headers: { Authorization: authorization } }))
          .body;
      expect(await ask(service)).toMatchObject({
        active: true,
        token_use: 'key',
        token_type: 'Bearer',
        aud: resource,
        organizations: expect.any(Array),
      });
      for (const other of others) expect(await ask(other)).toEqual(inactive);
      expect(await introspect(owner.access_token)).not.toHaveProperty('aud');
    });
  });
});
