// The service behind PgBouncer in transaction mode, where consecutive transactions of one connection run on different ones.

import { expect, test } from 'bun:test';
import { loginByMail, request } from '#support/http.ts';
import { hasPgBouncer, startPgBouncer } from '#support/pgbouncer.ts';
import { startPostgres } from '#support/postgres.ts';
import { registerService, startService } from '#support/service.ts';
import { basic } from '#support/services.ts';

const parallel = 64;
const rounds = 3;
const resource = 'https://projects.example';

test.skipIf(!hasPgBouncer)('signing in, refreshing, runs and the feed work through PgBouncer', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const pooler = await startPgBouncer(databaseUrl);
  const env = { LATCHKEY_DATABASE_DIRECT_URL: databaseUrl };
  const service = await startService({ databaseUrl: pooler.url, env });
  const options = ['--resource', resource, '--scope', 'projects:read=See your projects', '--may', 'feed'];
  const key = { Authorization: basic(await registerService(service, 'projects', ...options)) };
  const login = await loginByMail(service.url, 'pooled@example.com');
  const statuses = async (ask: () => Promise<{ readonly status: number }>) =>
    new Set((await Promise.all(Array.from({ length: parallel }, ask))).map(({ status }) => status));

  let tokens = login;
  for (let round = 0; round < rounds; round++) {
    const { body } = await request(service.url, 'POST', '/refresh', {
      json: { refresh_token: tokens.refresh_token },
    });
    tokens = { ...tokens, ...body };
    const me = () => request(service.url, 'GET', '/me', { token: tokens.access_token });
    expect(await statuses(me)).toEqual(new Set([200]));
    // Unlike look-ups, these go to the database one by one, over all connections.
    const device = () => request(service.url, 'POST', '/device');
    expect(await statuses(device)).toEqual(new Set([200]));
  }
  const exchange = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: tokens.access_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    resource,
    scope: 'projects:read',
  };
  const run = await fetch(`${service.url}/api/v1/auth/token`, {
    method: 'POST',
    body: new URLSearchParams(exchange),
  });
  expect(run.status).toBe(200);

  const ask = { headers: key, json: { returnImmediately: true } };
  const before = await request(service.url, 'POST', '/feed', ask);
  expect(before.status).toBe(200);
  expect((await request(service.url, 'POST', '/revoke', { token: tokens.access_token })).status).toBe(204);
  const after = await request(service.url, 'POST', '/feed', ask);
  expect(Object.keys(after.body.sets).length).toBeGreaterThan(Object.keys(before.body.sets).length);
  expect(await service.stop()).toBe(0);
  await pooler.stop();
});
