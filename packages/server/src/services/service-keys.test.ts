import { beforeAll, expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { basic, changeService, declareService, type TestService } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { readServiceKey } from '../platform/http/credential.ts';
import { revokeService } from '../sessions/ending.ts';
import { listServices, retireServiceKey, rotateServiceKey } from './service-keys.ts';

onBothDatabases('service keys', (open) => {
  const app = shared(open);
  let made: TestService;
  beforeAll(async () => {
    made = await declareService(app.ctx, { name: 'sessions' });
  });

  const ask = (Authorization: string | undefined, on: TestApp = app, more = {}) =>
    on.ask('POST', '/introspect', {
      form: { token: 'x' },
      headers: { ...(Authorization === undefined ? {} : { Authorization }), ...more },
    });
  const status = async (authorization: string, on?: TestApp) => (await ask(authorization, on)).status;
  const listed = async (id: string) => (await listServices(app.ctx)).find((row) => row.id === id)!;
  const unknownId = `svc_${'A'.repeat(22)}`;

  test('a missing key, a malformed key and a token of a user are refused without a database query', async () => {
    const { access_token } = await app.login();
    const { key } = made;
    const before = app.statements.length;
    const wrong = [`${key}x`, key.replace('_', ' _'), key.replace(':', ''), `${unknownId}:${access_token}`];
    for (const header of [
      ...[undefined, '', 'Basic', 'Basic ====', 'Basic Zm9v', `Bearer ${access_token}`, `Bearer ${key}`],
      ...[`Digest ${basic(key)}`, `Bearer x, ${basic(key)}`],
      ...['a:b', '%', `${access_token}:`, ...wrong].map(basic),
    ]) {
      const answer = await ask(header);
      expect([header, outcome(answer)]).toEqual([header, '401 invalid_client']);
      expect(answer.headers.get('WWW-Authenticate')).toStartWith('Basic realm=');
    }
    expect(app.statements.slice(before)).toEqual([]);
    const second = new Headers({ Authorization: `Bearer x, ${basic(key)}` });
    expect(readServiceKey(second)).toEqual({ id: '', secret: '' });
  });

  test('a key is good with white space around id and secret, form-encoded, and under any case of its scheme', async () => {
    const { id, secret, key } = made;
    for (const blank of [' ', '\n', '\r\n', '\t']) {
      const [client_id, client_secret] = [id, secret].map((part) => blank + part + blank) as [string, string];
      expect(await status(basic(`${client_id}:${client_secret}`))).toBe(200);
      const form = { grant_type: 'client_credentials', client_id, client_secret };
      expect((await app.ask('POST', '/token', { form })).body.error).not.toBe('invalid_client');
    }
    expect(await status(basic(key.replaceAll('-', '%2D').replaceAll('_', '%5F')))).toBe(200);
    expect(await status(`bAsIc  ${basic(key).slice(6)}`)).toBe(200);
  });

  test('an unknown id and a wrong secret get the same error', async () => {
    const wrong = [unknownId, made.id].map((id) => basic(`${id}:lk_sk_${'A'.repeat(43)}`));
    const [one, other] = await Promise.all(wrong.map((key) => ask(key, app, { 'X-Request-Id': 'same' })));
    expect(outcome(one!)).toBe('401 invalid_client');
    expect(one!.body).toEqual(other!.body);
  });

  test('a revoked service is refused at once on every node, stays listed, and cannot be changed any more', async () => {
    const node = await open({ beside: app });
    const { id, authorization } = await declareService(app.ctx, { name: 'sessions' });
    await rotateServiceKey(app.ctx, id);
    expect(await status(authorization, node)).toBe(200);
    await revokeService(app.ctx, id);
    for (const on of [app, node]) expect(await status(authorization, on)).toBe(401);
    expect(await status(made.authorization)).toBe(200);
    expect(await listed(id)).toMatchObject({ name: 'sessions', revoked_at: expect.any(String) });
    for (const gone of [id, 'svc_unknown'])
      for (const result of await Promise.allSettled([
        rotateServiceKey(app.ctx, gone),
        retireServiceKey(app.ctx, gone),
        changeService(app.ctx, gone, { rights: [] }),
        revokeService(app.ctx, gone),
      ]))
        expect(result).toMatchObject({ reason: { code: 'not_found' } });
  });

  test('its last use is updated at most every five minutes', async () => {
    const { id, authorization } = await declareService(app.ctx, { name: 'projects' });
    const lastUsedAt = async () => (await listed(id)).last_used_at;
    expect(await lastUsedAt()).toBeNull();
    await ask(authorization);
    await until(async () => (await lastUsedAt()) !== null, 'the first use to be recorded');
    const firstUse = await lastUsedAt();
    app.pass(299);
    const before = app.statements.length;
    await ask(authorization);
    expect(app.statements.slice(before).filter((text) => /^update/i.test(text))).toEqual([]);
    app.pass(2);
    await ask(authorization);
    await until(async () => (await lastUsedAt())! > firstUse!, 'the next use to be recorded');
    expect(Date.parse((await lastUsedAt())!) - Date.parse(firstUse!)).toBeGreaterThanOrEqual(300_000);
  });

  test('a second secret works beside the first until the older one is retired, on every node; only hashes are stored', async () => {
    const node = await open({ beside: app });
    const { id, key } = await declareService(app.ctx, { name: 'rotating' });
    const secrets = [key];
    const rotate = async () => {
      const { secret } = await rotateServiceKey(app.ctx, id);
      secrets.push(`${id}:${secret}`);
    };
    /** Whether each of the secrets is good. */
    const good = () => Promise.all(secrets.map(async (key) => (await status(basic(key), node)) === 200));
    await expect(retireServiceKey(app.ctx, id)).rejects.toThrow('has only one secret');
    await rotate();
    await expect(rotate()).rejects.toThrow('has two secrets already');
    expect(await good()).toEqual([true, true]);
    await retireServiceKey(app.ctx, id);
    expect(await good()).toEqual([false, true]);
    await expect(retireServiceKey(app.ctx, id)).rejects.toThrow('has only one secret');
    await rotate();
    expect(await good()).toEqual([false, true, true]);
    const rows = JSON.stringify(await app.ctx.db.read.run('SELECT * FROM service_keys', []));
    for (const key of secrets) expect(rows).not.toContain(key.split('lk_sk_')[1]!);
    await retireServiceKey(app.ctx, id);
    expect(await good()).toEqual([false, false, true]);
  });

  test('of two rotations at once one adds a secret, and of two retirements one ends a secret', async () => {
    const { id } = await declareService(app.ctx);
    for (const change of [rotateServiceKey, retireServiceKey]) {
      const results = await Promise.allSettled([change(app.ctx, id), change(app.ctx, id)]);
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    }
  });
});
