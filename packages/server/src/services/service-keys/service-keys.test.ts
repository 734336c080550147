import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { endRunsOfService } from '../../sessions/sessions.ts';
import { createServiceKey, listServiceKeys, revokeServiceKey } from './service-keys.ts';

setDefaultTimeout(30_000);

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

onBothDatabases('service keys', (open) => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await open({ settings: { LATCHKEY_RATE_LIMITS: 'off' } });
    const { id, secret } = await createServiceKey(app.ctx, 'sessions');
    key = `${id}:${secret}`;
  });
  afterAll(() => app.close());

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
      basic(`${key}\n`),
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
    const made = await createServiceKey(app.ctx, 'sessions');
    const headers = { Authorization: basic(`${made.id}:${made.secret}`) };
    const form = { token: 'x' };
    expect((await other.ask('POST', '/introspect', { form, headers })).status).toBe(200);
    await revokeServiceKey(app.ctx, made.id, endRunsOfService);
    expect((await other.ask('POST', '/introspect', { form, headers })).status).toBe(401);
    await expectRefused(headers);
    expect((await introspect(form)).status).toBe(200);
    await expect(revokeServiceKey(app.ctx, made.id, endRunsOfService)).rejects.toThrow(
      'no active service key',
    );
    const listed = (await listServiceKeys(app.ctx)).find((row) => row.id === made.id);
    expect(listed).toMatchObject({ name: 'sessions', revoked_at: expect.any(Number) });
    await other.close();
  });

  test('a key is stored only as a hash, and its last use is updated at most every five minutes', async () => {
    const made = await createServiceKey(app.ctx, 'projects');
    const headers = { Authorization: basic(`${made.id}:${made.secret}`) };
    const rows = JSON.stringify(await app.ctx.db.read.run('SELECT * FROM service_keys', []));
    expect(rows).toContain(made.id);
    expect(rows).not.toContain(made.secret.slice(6));
    const lastUsedAt = async () =>
      (await listServiceKeys(app.ctx)).find((row) => row.id === made.id)?.last_used_at;
    expect(await lastUsedAt()).toBeNull();
    await introspect({ token: 'x' }, headers);
    for (let n = 0; n < 100 && (await lastUsedAt()) === null; n++) await Bun.sleep(5);
    const firstUse = await lastUsedAt();
    expect(firstUse).toBeNumber();
    app.pass(299);
    await introspect({ token: 'x' }, headers);
    await Bun.sleep(20);
    expect(await lastUsedAt()).toBe(firstUse!);
    app.pass(2);
    await introspect({ token: 'x' }, headers);
    for (let n = 0; n < 100 && (await lastUsedAt()) === firstUse; n++) await Bun.sleep(5);
    expect(await lastUsedAt()).toBeGreaterThan(firstUse!);
  });

  test('a key needs a visible name of at most 100 characters', async () => {
    for (const name of ['', ' ', 'x'.repeat(101), 'a\nb'])
      await expect(createServiceKey(app.ctx, name)).rejects.toThrow('The name must be');
    await createServiceKey(app.ctx, 'x'.repeat(100));
  });
});
