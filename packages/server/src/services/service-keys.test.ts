import { beforeAll, expect, test } from 'bun:test';
import { onBothDatabases } from '../../../../tests/support/app.ts';
import { basic, changeService, declareService } from '../../../../tests/support/services.ts';
import { shared } from '../../../../tests/support/shared.ts';
import { until } from '../../../../tests/support/until.ts';
import { revokeService } from '../sessions/ending.ts';
import type { Registration } from './registration.ts';
import { findResource, findScopes } from './scopes.ts';
import { listServices, retireServiceKey, rotateServiceKey } from './service-keys.ts';

onBothDatabases('service keys', (open) => {
  const app = shared(open);
  let key: string;
  beforeAll(async () => {
    key = (await declareService(app.ctx, { name: 'sessions' })).key;
  });

  const introspect = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    app.ask('POST', '/introspect', { form, headers: { Authorization: basic(key), ...headers } });
  const expectRefused = async (headers: Record<string, string>) => {
    const answer = await app.ask('POST', '/introspect', { form: { token: 'x' }, headers });
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
    expect(answer.headers.get('WWW-Authenticate')).toStartWith('Basic realm=');
    return answer;
  };
  const [idPrefix, secretPrefix] = ['svc_', 'lk_sk_'];

  test('a missing key, a malformed key and a token of a user are refused without a database query', async () => {
    const tokens = await app.login();
    const before = app.statements.length;
    const headers = [
      undefined,
      '',
      'Basic',
      'Basic ====',
      'Basic Zm9v',
      basic('a:b'),
      basic(`${key}x`),
      basic(key.replace('_', ' _')),
      basic(key.replace(':', '')),
      basic('%'),
      basic(`${idPrefix}${'A'.repeat(22)}:${tokens.access_token}`),
      `Bearer ${tokens.access_token}`,
      `Bearer ${key}`,
      basic(`${tokens.access_token}:`),
    ];
    for (const header of headers) await expectRefused(header === undefined ? {} : { Authorization: header });
    expect(app.statements.slice(before)).toEqual([]);
  });

  test.each([' ', '\n', '\r\n', '\t'])(
    'a key with %j around its id and secret is accepted',
    async (blank) => {
      const [id, secret] = key.split(':').map((part) => `${blank}${part}${blank}`);
      expect((await introspect({ token: 'x' }, { Authorization: basic(`${id}:${secret}`) })).status).toBe(
        200,
      );
      const form = { grant_type: 'client_credentials', client_id: id!, client_secret: secret! };
      expect((await app.ask('POST', '/token', { form })).body.error).not.toBe('invalid_client');
    },
  );

  test('an unknown id and a wrong secret get the same error, before the body is read', async () => {
    const unknown = `${idPrefix}${'A'.repeat(22)}:${secretPrefix}${'A'.repeat(43)}`;
    const wrong = `${key.split(':')[0]}:${secretPrefix}${'A'.repeat(43)}`;
    const bodies = await Promise.all(
      [unknown, wrong].map(async (text) => {
        const { body } = await expectRefused({ Authorization: basic(text), 'X-Request-Id': 'same' });
        return body;
      }),
    );
    expect(bodies[0]).toEqual(bodies[1]);
    const answer = await app.ask('POST', '/introspect', {
      raw: '{',
      headers: { 'Content-Type': 'application/json', Authorization: basic(unknown) },
    });
    expect(answer.status).toBe(401);
  });

  test('a service key does not authenticate as a user', async () => {
    for (const headers of [{ Authorization: basic(key) }, { Authorization: `Bearer ${key.split(':')[1]}` }])
      expect((await app.ask('GET', '/me', { headers })).status).toBe(401);
  });

  test('id and secret of a key may be form-encoded (RFC 6749 section 2.3.1)', async () => {
    const encoded = key.replaceAll('-', '%2D').replaceAll('_', '%5F');
    expect((await introspect({ token: 'x' }, { Authorization: basic(encoded) })).status).toBe(200);
    expect(
      (await introspect({ token: 'x' }, { Authorization: `bAsIc  ${basic(key).slice(6)}` })).status,
    ).toBe(200);
  });

  test('a revoked key is refused at once on every node, and other keys of the same name still work', async () => {
    const other = await open({ beside: app });
    const made = await declareService(app.ctx, { name: 'sessions' });
    const headers = { Authorization: made.authorization };
    const form = { token: 'x' };
    expect((await other.ask('POST', '/introspect', { form, headers })).status).toBe(200);
    await revokeService(app.ctx, made.id);
    expect((await other.ask('POST', '/introspect', { form, headers })).status).toBe(401);
    await expectRefused(headers);
    expect((await introspect(form)).status).toBe(200);
    await expect(revokeService(app.ctx, made.id)).rejects.toThrow('no active service');
    const listed = (await listServices(app.ctx)).find((row) => row.id === made.id);
    expect(listed).toMatchObject({ name: 'sessions', revoked_at: expect.any(String) });
  });

  test('a key is stored only as a hash, and its last use is updated at most every five minutes', async () => {
    const made = await declareService(app.ctx, { name: 'projects' });
    const headers = { Authorization: made.authorization };
    const rows = JSON.stringify(await app.ctx.db.read.run('SELECT * FROM service_keys', []));
    expect(rows).toContain(made.id);
    expect(rows).not.toContain(made.secret.slice(6));
    const lastUsedAt = async () =>
      (await listServices(app.ctx)).find((row) => row.id === made.id)?.last_used_at;
    expect(await lastUsedAt()).toBeNull();
    await introspect({ token: 'x' }, headers);
    await until(async () => (await lastUsedAt()) !== null, 'the first use to be recorded');
    const firstUse = await lastUsedAt();
    expect(firstUse).toBeString();
    app.pass(299);
    await introspect({ token: 'x' }, headers);
    expect(await lastUsedAt()).toBe(firstUse!);
    app.pass(2);
    await introspect({ token: 'x' }, headers);
    await until(async () => (await lastUsedAt()) !== firstUse, 'the next use to be recorded');
    expect((await lastUsedAt())! > firstUse!).toBe(true);
  });

  test('a key needs a visible name of at most 100 characters', async () => {
    for (const name of ['', ' ', 'x'.repeat(101), 'a\nb'])
      await expect(declareService(app.ctx, { name })).rejects.toThrow('The name must be');
    await declareService(app.ctx, { name: 'x'.repeat(100) });
  });

  test('a second secret works beside the first until the older one is retired, on every node', async () => {
    const node = await open({ beside: app });
    const made = await declareService(app.ctx, { name: 'rotating' });
    const status = async (authorization: string) =>
      (
        await node.ask('POST', '/introspect', {
          form: { token: 'x' },
          headers: { Authorization: authorization },
        })
      ).status;
    await expect(retireServiceKey(app.ctx, made.id)).rejects.toThrow('has only one secret');
    const second = await rotateServiceKey(app.ctx, made.id);
    expect(second.id).toBe(made.id);
    const secondKey = basic(`${second.id}:${second.secret}`);
    expect([await status(made.authorization), await status(secondKey)]).toEqual([200, 200]);
    await expect(rotateServiceKey(app.ctx, made.id)).rejects.toThrow('has two secrets already');
    expect([await status(made.authorization), await status(secondKey)]).toEqual([200, 200]);

    await retireServiceKey(app.ctx, made.id);
    expect([await status(made.authorization), await status(secondKey)]).toEqual([401, 200]);
    await expect(retireServiceKey(app.ctx, made.id)).rejects.toThrow('has only one secret');
    const third = await rotateServiceKey(app.ctx, made.id);
    await retireServiceKey(app.ctx, made.id);
    const thirdKey = basic(`${third.id}:${third.secret}`);
    expect([await status(secondKey), await status(thirdKey)]).toEqual([401, 200]);

    const rows = JSON.stringify(await app.ctx.db.read.run('SELECT * FROM service_keys', []));
    for (const { secret } of [second, third]) expect(rows).not.toContain(secret.slice(6));
  });

  test('of two rotations at once one adds a secret, and of two retirements one ends a secret', async () => {
    const { id } = await declareService(app.ctx);
    for (const change of [rotateServiceKey, retireServiceKey]) {
      const results = await Promise.allSettled([change(app.ctx, id), change(app.ctx, id)]);
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    }
  });

  test('a revoked or unknown service can be neither changed nor rotated nor retired', async () => {
    const { id, authorization } = await declareService(app.ctx);
    await rotateServiceKey(app.ctx, id);
    await revokeService(app.ctx, id);
    await expectRefused({ Authorization: authorization });
    for (const gone of [id, 'svc_unknown']) {
      const refused = [
        rotateServiceKey(app.ctx, gone),
        retireServiceKey(app.ctx, gone),
        changeService(app.ctx, gone, { rights: [] }),
        revokeService(app.ctx, gone),
      ];
      for (const result of await Promise.allSettled(refused))
        expect(result).toMatchObject({ reason: { code: 'not_found' } });
    }
  });

  test('changing a service replaces what is named as a whole and leaves the rest', async () => {
    const declared = {
      name: 'whole',
      resource: 'https://whole.example',
      scopes: [
        { name: 'whole:read', sentence: 'Read' },
        { name: 'whole:write', sentence: 'Write' },
      ],
      rights: ['users', 'feed', 'users'] as const,
      reach: ['https://a.example', 'https://b.example', 'https://a.example'],
    };
    const { id } = await declareService(app.ctx, declared);
    const listed = async () => (await listServices(app.ctx)).find((row) => row.id === id)!;
    const first = { ...declared, rights: ['users', 'feed'] as const, reach: declared.reach.slice(0, 2) };
    const shown = ({ scopes = [], ...rest }: Partial<Registration>) => ({
      ...rest,
      scopes: scopes.map(({ name, sentence }) => ({ name, description: sentence })),
    });
    expect(await listed()).toMatchObject(shown(first));
    const changes: Partial<Registration>[] = [
      { rights: ['delegate'] },
      { reach: [] },
      { scopes: [{ name: 'whole:write', sentence: 'Change' }] },
      { resource: 'https://other.example' },
      { scopes: [], rights: [] },
      { resource: null },
    ];
    let expected: Partial<Registration> = first;
    for (const change of changes) {
      await changeService(app.ctx, id, change);
      expected = { ...expected, ...change };
      expect(await listed()).toMatchObject(shown(expected));
    }
    expect(await findScopes(app.ctx.db.read, ['whole:read', 'whole:write'])).toEqual([]);
    expect(await findResource(app.ctx.db.read, 'https://whole.example')).toBeUndefined();
  });

  test('what a revoked service declared can no longer be asked for', async () => {
    const { id } = await declareService(app.ctx, {
      resource: 'https://gone.example',
      scopes: [{ name: 'gone:read', sentence: 'Read' }],
    });
    const start = async (json: object) => (await app.ask('POST', '/device', { json })).body.error;
    expect(await start({ scope: 'gone:read', resource: 'https://gone.example' })).toBeUndefined();
    await revokeService(app.ctx, id);
    expect(await start({ scope: 'gone:read' })).toBe('invalid_scope');
    expect(await start({ resource: 'https://gone.example' })).toBe('invalid_target');
  });
});
