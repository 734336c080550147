import { describe, expect, test } from 'bun:test';
import type { NewKey } from '@latchkey/contract/keys';
import { mailsTo, newAddress, outcome, subjects } from '#support/account.ts';
import { onBothDatabases, sharedNodes, type Tokens } from '#support/app.ts';
import { createdKey, wantedKey } from '#support/keys.ts';
import { copySession, introspected } from '#support/runs.ts';
import { loggedEvents } from '#support/security-log.ts';
import { declareService, ticketsDeclared } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { revokeService } from '../ending.ts';

const { resource: tickets } = ticketsDeclared;
const day = 86_400;

onBothDatabases('keys', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);
  const service = shared(() => declareService(app.ctx, ticketsDeclared));

  const signIn = () => app.login(newAddress());
  const created = (owner: Tokens, wants?: Partial<NewKey>) => createdKey(app, owner, wants);
  const post = ({ access_token: token }: Tokens, json: unknown) => app.ask('POST', '/keys', { token, json });
  const list = async ({ access_token: token }: Tokens, query = '') =>
    (await app.ask('GET', `/keys${query}`, { token })).body;
  const remove = async ({ access_token: token }: Tokens, id: string) =>
    outcome(await app.ask('DELETE', `/keys/${id}`, { token }));
  const use = async (token: string) => outcome(await node.ask('GET', '/me', { token }));
  const facts = (token: string) => introspected(node, token, service.authorization);

  describe('creating', () => {
    test('a key is shown once, with what it allows and when it ends, listed without its secret, introspected and in the log', async () => {
      const owner = await signIn();
      const before = app.ctx.clock();
      const { key, ...listed } = await created(owner, { scope: 'email profile', resource: tickets });
      expect(key).toMatch(/^lk_ak_[\w-]{80}$/);
      expect(listed).toEqual({
        id: expect.stringMatching(/^key_[\w-]{22}$/),
        name: 'build',
        scope: 'email profile',
        resource: tickets,
        created_at: expect.any(String),
        expires_at: new Date(Date.parse(listed.created_at) + day * 1000).toISOString(),
        last_used_at: null,
      });
      expect(Date.parse(listed.created_at)).toBeGreaterThanOrEqual(before);
      expect(await list(owner)).toEqual({ keys: [listed], next_cursor: null });
      const found = await facts(key);
      const { id: sid, created_at, expires_at, scope } = listed;
      const [iat, exp] = [created_at, expires_at].map((time) => Math.floor(Date.parse(time) / 1000));
      const kind = { active: true, token_use: 'key', session_kind: 'key', aud: tickets };
      expect(found).toMatchObject({ ...kind, sid, scope, iat, exp });
      for (const member of ['auth_time', 'amr', 'acr']) expect(found).not.toHaveProperty(member);
      await remove(owner, sid);
      const { sid: session_id } = await facts(owner.access_token);
      const detail = { key_id: sid, name: 'build', scope, resource: tickets };
      for (const type of ['key_created', 'key_removed'])
        expect(await loggedEvents(app, owner, type)).toMatchObject([{ detail, session_id }]);
    });

    test('what is refused creates no key, and is neither an event nor a notice', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      for (const [wants, code] of [
        [{ scope: 'unknown' }, 'invalid_scope'],
        [{ resource: 'https://other.example/' }, 'invalid_target'],
        ...[null, [{ kind: 'a' }]].map(
          (authorization_details) => [{ authorization_details }, 'invalid_authorization_details'] as const,
        ),
      ] as const) {
        const answer = await post(owner, { ...wantedKey, ...wants });
        expect([wants, outcome(answer)]).toEqual([wants, `400 ${code}`]);
        expect(answer.body.error_description).toContain(Object.keys(wants)[0]!);
      }
      expect((await list(owner)).keys).toEqual([]);
      expect(await loggedEvents(app, owner, 'key_created')).toEqual([]);
      expect(await mailsTo(app, email, subjects.keyAdded)).toEqual([]);
    });

    test('details are kept as they were sent, in the list and in introspection', async () => {
      const owner = await signIn();
      const raw =
        '[{"type":"deploy","locations":["https://a.example"],"deep":{"a":[1,null,{"__proto__":"\\u0000\\ud800"}]}},{"type":"read"}]';
      const { body } = await app.ask('POST', '/keys', {
        token: owner.access_token,
        headers: { 'Content-Type': 'application/json' },
        raw: `{"name":"build","scope":"*","expires_in":3600,"authorization_details":${raw}}`,
      });
      for (const shown of [body, (await list(owner)).keys[0], await facts(body.key)])
        expect(shown.authorization_details).toEqual(JSON.parse(raw));
      expect(await facts(owner.access_token)).not.toHaveProperty('authorization_details');
    });

    test('an account has at most 50 active keys, however many requests race for the last one', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      const fill = async () => {
        const { id } = await created(owner, { expires_in: 3_600 });
        await copySession(app, id, 48);
      };
      await fill();
      const nodes = [app, node];
      const { access_token: token } = owner;
      const race = await Promise.all(
        Array.from({ length: 6 }, (_, n) => nodes[n % 2]!.ask('POST', '/keys', { token, json: wantedKey })),
      );
      expect(race.map(outcome).sort()).toEqual(['201', ...Array(5).fill('409 conflict')]);
      const { keys } = await list(owner);
      expect(keys).toHaveLength(50);
      await created(await signIn());
      expect(await remove(owner, keys[0].id)).toBe('204');
      const kept = await created(owner);
      expect(outcome(await post(owner, wantedKey))).toBe('409 conflict');
      // Neither expired keys count nor those that ended with all sessions.
      app.pass(3_600);
      const again = await app.login(email);
      expect((await list(again)).keys).toMatchObject([{ id: kept.id }]);
      await copySession(app, kept.id, 49);
      await app.ask('POST', '/revoke', { token: kept.key });
      await created(await app.login(email));
    });
  });

  test('keys of the extreme lifetimes and the longest name are listed, without those of others, logins, and one that removed itself, which ends at once on every node', async () => {
    const owner = await signIn();
    await created(await signIn());
    const name = 'é'.repeat(100);
    for (const expires_in of [31_536_000, 3_600]) await created(owner, { name, expires_in });
    const { id, key } = await created(owner);
    expect(await remove({ ...owner, access_token: key }, id)).toBe('204');
    expect(await use(key)).toBe('401 invalid_token');
    expect((await list(owner)).keys).toMatchObject([{ name }, { name }]);
    const { sessions } = await app.api.call('listSessions', { accessToken: owner.access_token });
    expect(sessions.map(({ kind }) => kind)).toEqual(['browser']);
  });

  test('last_used_at is null until the first use, then at most five minutes old; introspection uses a key', async () => {
    const owner = await signIn();
    const { key } = await created(owner);
    const lastUsed = async () => (await list(owner)).keys[0].last_used_at;
    expect(await lastUsed()).toBeNull();
    const before = app.ctx.clock();
    await use(key);
    const first = await lastUsed();
    expect(Date.parse(first)).toBeGreaterThanOrEqual(before);
    app.pass(290);
    await use(key);
    expect(await lastUsed()).toBe(first);
    app.pass(15);
    await facts(key);
    await until(async () => (await lastUsed()) !== first, 'the next use to be recorded');
    expect(Date.parse(await lastUsed())).toBeGreaterThanOrEqual(Date.parse(first) + 300_000);
  });

  test('what can be asked for are our own scopes and what active services declare', async () => {
    const revoked = await declareService(app.ctx, {
      resource: 'https://old.example',
      scopes: [{ name: 'old:read', sentence: 'Read what is old' }],
    });
    await revokeService(app.ctx, revoked.id);
    const { access_token: accessToken } = await signIn();
    const { scopes, resources } = await app.api.call('listScopes', { accessToken });
    const own = ['profile', 'email', 'organizations', 'openid', 'offline_access'];
    expect(scopes.map(({ name }) => name)).toEqual([...own, 'tickets:read']);
    expect([scopes[0], scopes.at(-1)]).toEqual([
      { name: 'profile', description: 'See your name, picture, language and time zone', service: null },
      { name: 'tickets:read', description: 'Read your tickets', service: 'Tickets' },
    ]);
    expect(resources).toEqual([{ resource: tickets, service: 'Tickets' }]);
  });

  test('a key outlives the session that made it, and ends at its own end, whatever the lifetimes of sessions are', async () => {
    const email = newAddress();
    const owner = await app.login(email);
    const { key } = await created(owner, { expires_in: 300 * day });
    await app.ask('DELETE', '/logout?scope=session', { token: owner.access_token });
    app.pass(299 * day);
    await app.sweep();
    expect(await use(key)).toBe('200');
    expect((await list(await app.login(email))).keys).toHaveLength(1);
    app.pass(day);
    expect(await use(key)).toBe('401 invalid_token');
  });
});
