import { beforeAll, describe, expect, test } from 'bun:test';
import type { NewKey } from '@latchkey/contract/keys';
import { newAddress, outcome } from '../../../../../tests/support/account.ts';
import { type Ask, onBothDatabases, sharedNodes, type Tokens } from '../../../../../tests/support/app.ts';
import { createdKey, type SecretKey } from '../../../../../tests/support/keys.ts';
import { loggedEvents } from '../../../../../tests/support/security-log.ts';
import { declareService } from '../../../../../tests/support/services.ts';
import { setDisabled } from '../../identity/account/account.ts';

const tickets = 'https://tickets.example/api';
const day = 86_400;

onBothDatabases('the life of a key', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);
  beforeAll(async () => {
    await declareService(app.ctx, {
      resource: tickets,
      scopes: [{ name: 'tickets:read', sentence: 'Read your tickets' }],
    });
  });

  const created = (tokens: Tokens, wants?: Partial<NewKey>) => createdKey(app, tokens, wants);
  const list = async (tokens: Tokens) => (await app.ask('GET', '/keys', { token: tokens.access_token })).body;
  const use = async (key: string, method = 'GET', path = '/me', ask: Ask = {}) =>
    outcome(await node.ask(method, path, { token: key, ...ask }));

  describe('using', () => {
    test('a key refreshes nothing', async () => {
      const owner = await app.login(newAddress());
      const { key } = await created(owner);
      const json = { refresh_token: key };
      expect(outcome(await app.ask('POST', '/refresh', { json }))).toBe('400 invalid_grant');
      const form = { grant_type: 'refresh_token', refresh_token: key };
      expect(outcome(await app.ask('POST', '/token', { form }))).toBe('400 invalid_grant');
      expect(await use(key)).toBe('200');
    });

    test('a key counts as a bearer token only, never as a cookie', async () => {
      const { key } = await created(await app.login(newAddress()));
      const headers = { 'Sec-Fetch-Site': 'same-origin' };
      const answer = await app.ask('GET', '/me', { cookie: `latchkey_session=${key}`, headers });
      expect(outcome(answer)).toBe('401 invalid_token');
    });

    test('a key costs as many statements as an access token', async () => {
      const owner = await app.login(newAddress());
      const { key } = await created(owner);
      const cost = async (token: string) => {
        await app.ask('GET', '/organizations', { token });
        const before = app.statements.length;
        await app.ask('GET', '/organizations', { token });
        return app.statements.length - before;
      };
      expect(await cost(key)).toBe(await cost(owner.access_token));
    });

    test('introspection describes a key as one, with its scope and its lifetime', async () => {
      const owner = await app.login(newAddress());
      const { id, key, created_at, expires_at } = await created(owner, { scope: 'tickets:read' });
      const headers = { Authorization: await app.serviceAuthorization() };
      const { body } = await app.ask('POST', '/introspect', { form: { token: key }, headers });
      const seconds = (time: string) => Math.floor(Date.parse(time) / 1000);
      expect(body).toMatchObject({
        active: true,
        token_use: 'key',
        session_kind: 'key',
        sid: id,
        scope: 'tickets:read',
        iat: seconds(created_at),
        exp: seconds(expires_at),
      });
      for (const member of ['auth_time', 'amr', 'acr']) expect(body).not.toHaveProperty(member);
    });

    test('introspection repeats the authorization_details of a key, and has none for other tokens', async () => {
      const owner = await app.login(newAddress());
      const authorization_details = [{ type: 'deploy', environments: ['staging'] }];
      const { key } = await created(owner, { authorization_details });
      const headers = { Authorization: await app.serviceAuthorization() };
      const introspect = async (token: string) =>
        (await app.ask('POST', '/introspect', { form: { token }, headers })).body;
      expect((await introspect(key)).authorization_details).toEqual(authorization_details);
      expect(await introspect(owner.access_token)).not.toHaveProperty('authorization_details');
    });

    test('a key ends at its own end, whatever the lifetimes of sessions are', async () => {
      const owner = await app.login(newAddress());
      const { key } = await created(owner, { expires_in: 300 * day });
      app.pass(299 * day);
      await app.sweep();
      expect(await use(key)).toBe('200');
      app.pass(day);
      expect(await use(key)).toBe('401 invalid_token');
      const again = await app.login();
      expect((await list(again)).keys).toEqual([]);
    });
  });

  describe('ending', () => {
    /** Every way to end a key by presenting it. */
    const byItself: [string, (key: SecretKey) => Promise<string>][] = [
      ['scope=session in the body', ({ key }) => use(key, 'POST', '/revoke', { json: { scope: 'session' } })],
      ['scope=session in the query', ({ key }) => use(key, 'POST', '/revoke?scope=session')],
      ['logout with scope=session', ({ key }) => use(key, 'DELETE', '/logout?scope=session')],
      [
        'the RFC 7009 form',
        async ({ key }) => outcome(await node.ask('POST', '/revoke', { form: { token: key } })),
      ],
      ['its own id as a session', ({ id, key }) => use(key, 'DELETE', `/sessions/${id}`)],
    ];
    test.each(byItself)('a key ends itself and nothing else by %s, however narrow it is', async (_, end) => {
      const owner = await app.login(newAddress());
      const other = await created(owner);
      const key = await created(owner, { scope: 'tickets:read', resource: tickets });
      expect(await end(key)).toMatch(/^20[04]$/);
      expect(await use(key.key)).toBe('401 invalid_token');
      expect(await use(other.key)).toBe('200');
      expect(await use(owner.access_token)).toBe('200');
      expect((await list(owner)).keys.map(({ id }: { id: string }) => id)).toEqual([other.id]);
      const [event, ...more] = await loggedEvents(app, owner, 'key_removed');
      expect(more).toEqual([]);
      expect(event).toMatchObject({ session_id: key.id, detail: { key_id: key.id, name: 'build' } });
      expect(['logout', 'token']).toContain(event!.detail.reason);
      expect(await loggedEvents(app, owner, 'session_revoked')).toEqual([]);
    });

    test('removing a key ends it at once, on every node; removing it again is not_found', async () => {
      const owner = await app.login(newAddress());
      const { id, key } = await created(owner);
      const remove = async () =>
        outcome(await app.ask('DELETE', `/keys/${id}`, { token: owner.access_token }));
      expect(await use(key)).toBe('200');
      expect(await remove()).toBe('204');
      expect(await use(key)).toBe('401 invalid_token');
      expect(await remove()).toBe('404 not_found');
    });

    test("another user's key, a session id and an unknown id are not_found, and a key is no session", async () => {
      const owner = await app.login(newAddress());
      const { id, key } = await created(owner);
      const stranger = await app.login(newAddress());
      const token = owner.access_token;
      const { sessions } = (await app.ask('GET', '/sessions', { token })).body;
      const remove = async (path: string, by = token) =>
        outcome(await app.ask('DELETE', path, { token: by }));
      expect(await remove(`/keys/${id}`, stranger.access_token)).toBe('404 not_found');
      expect(await remove(`/keys/${sessions[0].id}`)).toBe('404 not_found');
      expect(await remove(`/keys/key_${'A'.repeat(22)}`)).toBe('404 not_found');
      expect(await remove('/keys/nonsense')).toBe('404 not_found');
      expect(await remove(`/sessions/${id}`)).toBe('404 not_found');
      expect(await use(key)).toBe('200');
      const { key: other } = await created(owner);
      expect(await use(other, 'DELETE', `/sessions/${id}`)).toBe('404 not_found');
      expect(await use(other, 'DELETE', `/keys/${id}`)).toBe('204');
      expect(await use(key)).toBe('401 invalid_token');
    });

    test.each<[string, (owner: Tokens, email: string, key: string) => Promise<unknown>]>([
      ['all sessions are revoked', ({ access_token: token }) => app.ask('POST', '/revoke', { token })],
      ['all sessions are revoked by a key', (_, __, key) => app.ask('POST', '/revoke', { token: key })],
      ['the account is disabled', (_, email) => setDisabled(app.ctx, email, true)],
      ['the account is deleted', ({ access_token: token }) => app.ask('DELETE', '/me', { token })],
    ])('when %s, its keys end at once, on every node', async (_, end) => {
      const email = newAddress();
      const owner = await app.login(email);
      const keys = [await created(owner), await created(owner, { scope: 'profile' })];
      await end(owner, email, keys[0]!.key);
      for (const { key } of keys) expect(await use(key)).toBe('401 invalid_token');
      const headers = { Authorization: await app.serviceAuthorization() };
      const form = { token: keys[0]!.key };
      expect((await node.ask('POST', '/introspect', { form, headers })).body).toEqual({ active: false });
    });

    test('keys that ended with all sessions are neither listed nor counted, nor come back', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      for (let n = 0; n < 50; n++) await created(owner);
      await app.ask('POST', '/revoke', { token: owner.access_token });
      const again = await app.login(email);
      expect((await list(again)).keys).toEqual([]);
      const { key } = await created(again);
      await setDisabled(app.ctx, email, true);
      await setDisabled(app.ctx, email, false);
      expect(await use(key)).toBe('401 invalid_token');
      expect((await list(await app.login(email))).keys).toEqual([]);
    });

    test('the end of the session that made a key, by signing out, leaves the key', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      const { key } = await created(owner);
      await app.ask('DELETE', '/logout?scope=session', { token: owner.access_token });
      expect(await use(key)).toBe('200');
      expect((await list(await app.login(email))).keys).toHaveLength(1);
    });
  });
});
