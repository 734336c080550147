import { beforeAll, describe, expect, test } from 'bun:test';
import type { NewKey } from '@latchkey/contract/keys';
import { newAddress, outcome, signInByMail } from '../../../../../tests/support/account.ts';
import { onBothDatabases, sharedNodes, type Tokens } from '../../../../../tests/support/app.ts';
import { createdKey, wantedKey } from '../../../../../tests/support/keys.ts';
import { loggedEvents } from '../../../../../tests/support/security-log.ts';
import { declareService } from '../../../../../tests/support/services.ts';
import { until } from '../../../../../tests/support/until.ts';
import { revokeService } from '../ending.ts';

const tickets = 'https://tickets.example/api';
const day = 86_400;

onBothDatabases('keys', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);
  beforeAll(async () => {
    await declareService(app.ctx, {
      resource: tickets,
      scopes: [{ name: 'tickets:read', sentence: 'Read your tickets' }],
    });
  });

  const post = (tokens: Tokens, json: unknown) =>
    app.ask('POST', '/keys', { token: tokens.access_token, json });
  const created = (tokens: Tokens, wants?: Partial<NewKey>) => createdKey(app, tokens, wants);
  const list = async (tokens: Tokens, query = '') =>
    (await app.ask('GET', `/keys${query}`, { token: tokens.access_token })).body;
  const use = async (token: string) => outcome(await node.ask('GET', '/me', { token }));
  const keyMails = async (to: string) =>
    (await app.mails()).filter((mail) => mail.to === to && / key /i.test(mail.subject));

  describe('creating', () => {
    test('a key is shown once, with what it allows and when it ends, and listed without its secret', async () => {
      const owner = await app.login(newAddress());
      const before = app.ctx.clock();
      const answer = await post(owner, { ...wantedKey, scope: 'email profile', resource: tickets });
      expect([answer.status, answer.body]).toEqual([
        201,
        {
          id: expect.stringMatching(/^key_[\w-]{22}$/),
          key: expect.stringMatching(/^lk_ak_[\w-]{80}$/),
          name: 'build',
          scope: 'email profile',
          resource: tickets,
          created_at: expect.any(String),
          expires_at: expect.any(String),
          last_used_at: null,
        },
      ]);
      const { key, ...listed } = answer.body;
      expect(Date.parse(listed.created_at)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(listed.expires_at) - Date.parse(listed.created_at)).toBe(day * 1000);
      expect(await list(owner)).toEqual({ keys: [listed], next_cursor: null });
      expect(JSON.stringify(await list(owner))).not.toContain(key.slice(6));
    });

    test.each<[string, Record<string, unknown>, string]>([
      ['an empty scope', { scope: '' }, 'invalid_scope'],
      ['an unknown scope', { scope: 'profile tickets:write' }, 'invalid_scope'],
      ['a malformed scope', { scope: 'Profile' }, 'invalid_scope'],
      ['an unknown resource', { resource: 'https://other.example/' }, 'invalid_target'],
      ['a lifetime that is too short', { expires_in: 3_599 }, 'invalid_request'],
      ['a lifetime that is too long', { expires_in: 31_536_001 }, 'invalid_request'],
      ['details that are not an array', { authorization_details: { type: 'a' } }, 'details'],
      ['null details', { authorization_details: null }, 'details'],
      ['details as text', { authorization_details: '[{"type":"a"}]' }, 'details'],
      ['details of other things than objects', { authorization_details: [{ type: 'a' }, 'b'] }, 'details'],
      ['a list among the details', { authorization_details: [[{ type: 'a' }]] }, 'details'],
      ['details without a type', { authorization_details: [{ kind: 'a' }] }, 'details'],
      ['a type that is not text', { authorization_details: [{ type: 1 }] }, 'details'],
      ['details that are too large', { authorization_details: [{ type: 'é'.repeat(2_042) }] }, 'details'],
    ])('with %s, no key is created', async (_, wants, code) => {
      const owner = await app.login(newAddress());
      const answer = await post(owner, { ...wantedKey, ...wants });
      const expected = code === 'details' ? 'invalid_authorization_details' : code;
      expect(outcome(answer)).toBe(`400 ${expected}`);
      expect(answer.body.error_description).toContain(Object.keys(wants)[0]!);
      expect((await list(owner)).keys).toEqual([]);
    });

    test('the shortest and the longest lifetime, the longest name and the largest details are accepted', async () => {
      const owner = await app.login(newAddress());
      for (const expires_in of [3_600, 31_536_000]) await created(owner, { expires_in });
      expect((await created(owner, { name: 'é'.repeat(100) })).name).toBe('é'.repeat(100));
      const authorization_details = [{ type: `e${'é'.repeat(2_041)}` }];
      expect(Buffer.byteLength(JSON.stringify(authorization_details))).toBe(4_096);
      expect((await created(owner, { authorization_details })).authorization_details).toEqual(
        authorization_details,
      );
    });

    test('details are kept as they were sent', async () => {
      const owner = await app.login(newAddress());
      const raw =
        '[{"type":"deploy","locations":["https://a.example"],"deep":{"a":[1,null,{"__proto__":"\\u0000\\ud800"}]}},{"type":"read"}]';
      const answer = await app.ask('POST', '/keys', {
        token: owner.access_token,
        headers: { 'Content-Type': 'application/json' },
        raw: `{"name":"build","scope":"*","expires_in":3600,"authorization_details":${raw}}`,
      });
      expect(outcome(answer)).toBe('201');
      expect(answer.body.authorization_details).toEqual(JSON.parse(raw));
      const [listed] = (await list(owner)).keys;
      expect(listed.authorization_details).toEqual(JSON.parse(raw));
    });

    test('a scope is stored once per name, in its order, and everything is everything', async () => {
      const owner = await app.login(newAddress());
      expect((await created(owner, { scope: 'email profile email' })).scope).toBe('email profile');
      expect((await created(owner, { scope: 'profile *' })).scope).toBe('*');
      expect((await created(owner, { scope: 'tickets:read openid' })).scope).toBe('tickets:read openid');
    });

    test('an account has at most 50 active keys, however many requests race for the last one', async () => {
      const owner = await app.login(newAddress());
      for (let n = 0; n < 48; n++) await created(owner, { name: `key ${n}` });
      const short = await created(owner, { name: 'short', expires_in: 3_600 });
      const nodes = [app, node];
      const race = await Promise.all(
        Array.from({ length: 6 }, (_, n) =>
          nodes[n % 2]!.ask('POST', '/keys', { token: owner.access_token, json: wantedKey }),
        ),
      );
      expect(race.map(outcome).sort()).toEqual(['201', ...Array(5).fill('409 conflict')]);
      expect((await list(owner)).keys).toHaveLength(50);
      await app.ask('DELETE', `/keys/${short.id}`, { token: owner.access_token });
      await created(owner);
      expect(outcome(await post(owner, wantedKey))).toBe('409 conflict');
      expect((await post(await app.login(newAddress()), wantedKey)).status).toBe(201);
    });

    test('expired keys do not count', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      for (let n = 0; n < 50; n++) await created(owner, { expires_in: 3_600 });
      expect(outcome(await post(owner, wantedKey))).toBe('409 conflict');
      app.pass(3_600);
      const again = await app.login(email);
      expect((await list(again)).keys).toEqual([]);
      await created(again);
    });
  });

  describe('listing', () => {
    test('keys are paged newest first, without those of others, logins, and keys that ended', async () => {
      const owner = await app.login(newAddress());
      await created(await app.login(newAddress()));
      const names = ['a', 'b', 'c', 'd'];
      for (const name of names) {
        await created(owner, { name });
        app.pass(1);
      }
      const gone = await created(owner, { name: 'gone' });
      await app.ask('DELETE', `/keys/${gone.id}`, { token: owner.access_token });
      const first = await list(owner, '?limit=3');
      const second = await list(owner, `?limit=3&cursor=${first.next_cursor}`);
      const read = [...first.keys, ...second.keys].map(({ name }: { name: string }) => name);
      expect(read).toEqual(['d', 'c', 'b', 'a']);
      expect(second.next_cursor).toBeNull();
      expect(outcome(await app.ask('GET', '/keys?cursor=x', { token: owner.access_token }))).toBe(
        '400 invalid_request',
      );
      const { sessions } = (await app.ask('GET', '/sessions', { token: owner.access_token })).body;
      expect(sessions.map(({ kind }: { kind: string }) => kind)).toEqual(['browser']);
    });

    test('last_used_at is null until the first use, then at most five minutes old', async () => {
      const owner = await app.login(newAddress());
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
      await use(key);
      await until(async () => (await lastUsed()) !== first, 'the next use to be recorded');
      expect(Date.parse(await lastUsed())).toBeGreaterThanOrEqual(Date.parse(first) + 300_000);
    });

    test('a service that introspects a key uses it', async () => {
      const owner = await app.login(newAddress());
      const { key } = await created(owner);
      const headers = { Authorization: await app.serviceAuthorization() };
      expect((await app.ask('POST', '/introspect', { form: { token: key }, headers })).body.active).toBe(
        true,
      );
      expect((await list(owner)).keys[0].last_used_at).not.toBeNull();
    });
  });

  describe('what can be asked for', () => {
    test('lists our own scopes and what active services declare', async () => {
      const { id } = await declareService(app.ctx, {
        name: 'Builds',
        scopes: [{ name: 'builds:start', sentence: 'Start builds' }],
      });
      const { id: revoked } = await declareService(app.ctx, {
        name: 'Old',
        resource: 'https://old.example',
        scopes: [{ name: 'old:read', sentence: 'Read what is old' }],
      });
      await revokeService(app.ctx, revoked);
      const { access_token: token } = await app.login(newAddress());
      const { status, body } = await app.ask('GET', '/scopes', { token });
      expect(status).toBe(200);
      expect(body.scopes.map(({ name }: { name: string }) => name)).toEqual([
        'profile',
        'email',
        'organizations',
        'openid',
        'offline_access',
        'builds:start',
        'tickets:read',
      ]);
      expect(body.scopes[0]).toEqual({
        name: 'profile',
        description: 'See your name, picture, language and time zone',
        service: null,
      });
      expect(body.scopes.at(-1)).toEqual({
        name: 'tickets:read',
        description: 'Read your tickets',
        service: 'Tickets',
      });
      expect(body.resources).toEqual([{ resource: tickets, service: 'Tickets' }]);
      await revokeService(app.ctx, id);
    });
  });

  describe('what the owner learns', () => {
    test('creating and removing a key are events and notices', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      const key = await created(owner, { name: 'night build', scope: 'tickets:read', resource: tickets });
      await app.ask('DELETE', `/keys/${key.id}`, { token: owner.access_token });
      const detail = { key_id: key.id, name: 'night build', scope: 'tickets:read', resource: tickets };
      const [made] = await loggedEvents(app, owner, 'key_created');
      const [removed] = await loggedEvents(app, owner, 'key_removed');
      expect([made?.detail, removed?.detail]).toEqual([detail, detail]);
      expect([made?.session_id, removed?.session_id]).toEqual([
        expect.stringMatching(/^ses_/),
        made!.session_id,
      ]);
      const mails = await keyMails(email);
      expect(mails.map(({ subject }) => subject).toSorted()).toEqual([
        'An API key of your Latchkey account was removed',
        'An API key was created for your Latchkey account',
      ]);
      for (const { text } of mails) {
        expect(text).toContain('night build');
        expect(text).toMatch(/^http\S+\/not-me#token=lk_nm_\S+$/m);
        expect(text).not.toContain('lk_ak_');
      }
    });

    test('what fails is neither an event nor a notice', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      await post(owner, { ...wantedKey, scope: 'unknown' });
      await app.ask('DELETE', `/keys/key_${'A'.repeat(22)}`, { token: owner.access_token });
      expect(await loggedEvents(app, owner, 'key_created')).toEqual([]);
      expect(await loggedEvents(app, owner, 'key_removed')).toEqual([]);
      expect(await keyMails(email)).toEqual([]);
    });
  });

  test('creating and removing keys counts as a change of the account, and what fails does not', async () => {
    const limited = await open({
      settings: { LATCHKEY_RATE_LIMITS: 'account_changes=3/60' },
    });
    const { access_token: token } = (await signInByMail(limited, newAddress())).body;
    const create = (name: string) => limited.ask('POST', '/keys', { token, json: { ...wantedKey, name } });
    const first = await create('one');
    expect(first.headers.get('RateLimit')).not.toBeNull();
    expect(
      outcome(await limited.ask('POST', '/keys', { token, json: { ...wantedKey, scope: 'unknown' } })),
    ).toBe('400 invalid_scope');
    expect(outcome(await limited.ask('DELETE', `/keys/${first.body.id}`, { token }))).toBe('204');
    expect(outcome(await create('two'))).toBe('201');
    expect(outcome(await create('three'))).toBe('429 rate_limited');
  });
});
