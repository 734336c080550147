import { describe, expect, test } from 'bun:test';
import { serviceRights } from '@latchkey/contract/scopes';
import { introspection, introspectionJwtType } from '@latchkey/contract/services';
import { decodeJwt } from 'jose';
import { newAddress, throughPasskey } from '#support/account.ts';
import { onBothDatabases, type Tokens } from '#support/app.ts';
import { createdKey } from '#support/keys.ts';
import { addMember, createOrganization, declareService, type TestService } from '#support/services.ts';
import { shared } from '#support/shared.ts';

let facts = 0;

// Forged, foreign and malformed tokens: tests/invariants/no-statement.test.ts; those of a resource: properties.test.ts.
onBothDatabases('introspection', (open) => {
  const app = shared(open);
  const service = shared(() => declareService(app.ctx));

  const ask = (form: Record<string, string>, { authorization } = service, headers = {}) =>
    app.ask('POST', '/introspect', { form, headers: { Authorization: authorization, ...headers } });
  const introspect = async (token: string, by?: TestService) => {
    const answer = await ask({ token }, by);
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const profileOf = async ({ access_token: token }: Tokens) => (await app.ask('GET', '/me', { token })).body;

  test('an active access token is described by its user, session, sign-in, issue and expiry, with any hint and as JSON; a refresh token as one, without being spent', async () => {
    const before = Math.floor(app.ctx.clock() / 1000);
    const tokens = await app.login(newAddress());
    const after = Math.floor(app.ctx.clock() / 1000);
    const answer = await ask({ token: tokens.access_token });
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    const { body } = answer;
    const [session] = (await app.ask('GET', '/sessions', { token: tokens.access_token })).body.sessions;
    expect(introspection.parse(body)).toEqual({
      active: true,
      token_use: 'access_token',
      token_type: 'Bearer',
      iss: app.ctx.config.baseUrl,
      sub: (await profileOf(tokens)).id,
      sid: session.id,
      iat: body.iat,
      exp: body.iat + 14_400,
      auth_time: body.iat,
      amr: ['otp'],
      session_kind: 'browser',
      scope: '*',
      name: expect.any(String),
      organizations: [{ id: expect.any(String), slug: expect.any(String), role: 'owner' }],
    });
    expect(body.iat).toBeWithin(before, after + 1);
    const headers = { Authorization: service.authorization };
    const asJson = await app.ask('POST', '/introspect', { json: { token: tokens.access_token }, headers });
    expect(asJson.body).toEqual(body);
    const { refresh_token } = tokens;
    const refreshable = { active: true, token_use: 'refresh_token', sub: body.sub };
    for (const token_type_hint of ['access_token', 'refresh_token', 'nonsense', '']) {
      expect((await ask({ token: tokens.access_token, token_type_hint })).body).toEqual(body);
      const found = (await ask({ token: refresh_token, token_type_hint })).body;
      expect(found).toMatchObject({ ...refreshable, exp: found.iat + 30 * 86_400 });
      expect(found.token_type).toBeUndefined();
    }
    expect((await app.ask('POST', '/refresh', { json: { refresh_token } })).status).toBe(200);
    expect(await introspect(refresh_token)).toEqual({ active: false });
  });

  test('only a session of its own sign-in says when and how: by passkey with acr phr, by device code nothing', async () => {
    const tokens = await app.login(newAddress());
    const device = await introspect((await app.deviceLogin(tokens)).access_token);
    expect(device).toMatchObject({ session_kind: 'device', sub: (await profileOf(tokens)).id });
    for (const member of ['auth_time', 'amr', 'acr']) expect(device).not.toHaveProperty(member);
    app.pass(3600);
    const { access_token, refresh_token } = (await throughPasskey(app, await app.login(newAddress()))).login;
    const found = await introspect(access_token);
    expect(found).toMatchObject({
      ...{ acr: 'phr', amr: ['pop', 'user', 'mfa'], session_kind: 'browser' },
      auth_time: found.iat,
    });
    app.pass(600);
    const { body } = await app.ask('POST', '/refresh', { json: { refresh_token } });
    const later = await introspect(body.access_token);
    expect(later.auth_time).toBe(found.auth_time);
    expect(later.iat - found.iat).toBeGreaterThanOrEqual(600);
  });

  describe('what a service learns about the user', () => {
    const told = ['name', 'organizations', 'organizations_truncated', 'email', 'email_verified'];
    const toldAbout = async (token: string, by: TestService, accept = 'application/json') => {
      const { body, text } = await ask({ token }, by, { Accept: accept });
      const response = body ?? decodeJwt(text)['token_introspection'];
      return Object.fromEntries(Object.entries(response).filter(([name]) => told.includes(name)));
    };

    test('follows the scope of the token, and the right users shows it all, plain and signed', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      const { id: userId, name } = await profileOf(owner);
      const plain = await declareService(app.ctx, {
        name: 'Plain',
        scopes: [{ name: 'plain:read', sentence: 'Read' }],
        rights: serviceRights.filter((right) => right !== 'users'),
      });
      const reader = await declareService(app.ctx, { name: 'Reader', rights: ['users'] });
      const slug = `facts-${facts++}`;
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
  });
});
