// The service behind PgBouncer in transaction mode, where consecutive transactions of one connection run on different ones.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import { exchangeForm } from '#support/http.ts';
import { startPostgres } from '#support/postgres.ts';
import { reservePort } from '#support/reserved-port.ts';
import {
  launch,
  registerService,
  runOperator,
  startService,
  temporaryDirectory,
  untilReady,
} from '#support/service.ts';
import { basic } from '#support/services.ts';

const parallel = 64;
const rounds = 3;
const resource = 'https://projects.example';

/** Fewer than the connections of one service, so that its transactions must share them. */
const serverConnections = 4;

/** `npm test` installs it as root on Debian. */
const program = Bun.which('pgbouncer') ?? Bun.which('/usr/sbin/pgbouncer');

/** A real PgBouncer in transaction mode in front of a database; returns the address of the same database through it. */
async function startPgBouncer(pooler: string, databaseUrl: string) {
  const database = new URL(databaseUrl);
  const directory = temporaryDirectory();
  const users = join(directory, 'users.txt');
  writeFileSync(users, `"${database.username}" "${decodeURIComponent(database.password)}"\n`);
  const port = reservePort();
  const settings = join(directory, 'pgbouncer.ini');
  writeFileSync(
    settings,
    `[databases]
* = host=${database.hostname} port=${database.port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${serverConnections}
ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout
`,
  );
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) spawnSync(['chown', '-R', 'nobody', directory]);
  const running = launch('/', {}, [pooler, ...(isRoot ? ['--user=nobody'] : []), settings]);
  await untilReady('PgBouncer', running, () => running.stderr().includes('process up'));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return url.href;
}

test.skipIf(!program)('signing in, refreshing, runs and the feed work through PgBouncer', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const pooled = await startPgBouncer(program!, databaseUrl);
  const env = { LATCHKEY_DATABASE_DIRECT_URL: databaseUrl };
  const service = await startService({ databaseUrl: pooled, env });
  const routeBy = async (settings: Readonly<Record<string, string>>) =>
    /^(\w+) .*(reach|before) PostgreSQL/m.exec((await runOperator(settings, 'doctor')).stdout)?.[1];
  const { LATCHKEY_DATABASE_DIRECT_URL: _, ...withoutDirect } = { ...service.env, ...env };
  expect([await routeBy(service.env), await routeBy(withoutDirect)]).toEqual(['ok', 'failed']);
  const options = ['--resource', resource, '--scope', 'projects:read=See your projects', '--may', 'feed'];
  const key = { Authorization: basic(await registerService(service, 'projects', ...options)) };
  const login = await service.login('pooled@example.com');
  const statuses = async (ask: () => Promise<{ readonly status: number }>) =>
    new Set((await Promise.all(Array.from({ length: parallel }, ask))).map(({ status }) => status));

  let tokens = login;
  for (let round = 0; round < rounds; round++) {
    const { body } = await service.ask('POST', '/refresh', {
      json: { refresh_token: tokens.refresh_token },
    });
    tokens = { ...tokens, ...body };
    const me = () => service.ask('GET', '/me', { token: tokens.access_token });
    expect(await statuses(me)).toEqual(new Set([200]));
    // Unlike look-ups, these go to the database one by one, over all connections.
    const device = () => service.ask('POST', '/device');
    expect(await statuses(device)).toEqual(new Set([200]));
  }
  const form = { ...exchangeForm(tokens.access_token, 'projects:read'), resource };
  expect((await service.ask('POST', '/token', { form })).status).toBe(200);

  const ask = { headers: key, json: { returnImmediately: true } };
  const before = await service.ask('POST', '/feed', ask);
  expect(before.status).toBe(200);
  expect((await service.ask('POST', '/revoke', { token: tokens.access_token })).status).toBe(204);
  const after = await service.ask('POST', '/feed', ask);
  expect(Object.keys(after.body.sets).length).toBeGreaterThan(Object.keys(before.body.sets).length);
  expect(await service.stop()).toBe(0);
});
