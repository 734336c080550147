// What stops a start, what it waits for, what other processes share, and how `latchkey-server health`, the check of container images, finds out.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startFaultProxy } from '#support/fault-proxy.ts';
import { loginByMail } from '#support/http.ts';
import { startPostgres } from '#support/postgres.ts';
import { reservePort } from '#support/reserved-port.ts';
import {
  runOperator,
  runOperatorProcess,
  startOperator,
  startService,
  type TestService,
} from '#support/service.ts';
import { until } from '#support/until.ts';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';

test('no keys are made beside a store that had others, and none but its own are used with it', async () => {
  const service = await startService();
  await loginByMail(service.url, 'ada@example.com');
  await service.stop();
  const keyFile = join(service.directory, 'latchkey.keys');
  const own = readFileSync(keyFile, 'utf8');
  rmSync(keyFile);
  const refusal = expect.stringMatching(
    /^latchkey-server: .*sealed under the server key [\w-]{7}.* LATCHKEY_KEYS .*latchkey\.keys.*\.$/m,
  );
  const refused = { code: 1, stdout: '', stderr: refusal };
  const other = generateKey();
  for (const [settings, ...command] of [
    [{}, 'serve'],
    [{}, 'migrate'],
    [{ LATCHKEY_KEYS: other }, 'serve'],
    // It would seal with them.
    [{ LATCHKEY_KEYS: other }, 'users', 'disable', 'ada@example.com'],
  ] as const) {
    expect(await runOperatorProcess({ ...service.env, PORT: '0', ...settings }, ...command)).toEqual(refused);
    expect(existsSync(keyFile)).toBe(false);
  }
  const doctor = await runOperator(service.env, 'doctor');
  expect(doctor.stdout).toMatch(/^failed .*sealed under the server key .*LATCHKEY_KEYS.*latchkey\.keys/m);

  const env = { LATCHKEY_KEYS: other, LATCHKEY_RETIRED_KEYS: own };
  const again = await startService({ directory: service.directory, env });
  await loginByMail(again.url, 'bob@example.com');
  await again.stop();
  expect((await runOperator({ ...again.env, LATCHKEY_RETIRED_KEYS: '' }, 'services', 'list')).code).toBe(0);
});

test('a second process does not serve the same SQLite file, until the first has ended, however it ended', async () => {
  const service = await startService();
  const second = { ...service.env, PORT: '0' };
  const { code, stderr } = await runOperatorProcess(second, 'serve');
  expect([code, stderr]).toEqual([1, expect.stringContaining(join(service.directory, 'latchkey.db'))]);
  expect((await runOperator(second, 'services', 'list')).code).toBe(0);
  await service.kill();
  const next = await startService({ directory: service.directory });
  expect(await next.stop()).toBe(0);
});

test('processes on PostgreSQL share a port, and when one ends, the other one answers', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  // At once, because migrations must run under a lock.
  const [first] = await Promise.all([startService({ databaseUrl }), startService({ databaseUrl })]);
  const second = await startService({ databaseUrl, env: { PORT: new URL(first.url).port } });
  const answered = (service: TestService) =>
    service.logs().filter((line) => line.includes('"route":"/healthz"')).length;
  // Each is a connection of its own, which the kernel gives to one of the two.
  const ask = () => fetch(`${first.url}/healthz`, { headers: { Connection: 'close' } });
  await until(
    async () => (await ask()).ok && answered(first) > 0 && answered(second) > 0,
    'a response of each node',
  );
  expect(await second.stop()).toBe(0);
  expect((await ask()).status).toBe(200);
});

test('a database out of reach is waited for, and the reason is said once', async () => {
  const address = new URL(await (await startPostgres()).createDatabase());
  const proxy = await startFaultProxy(Number(address.port));
  proxy.disturb('cut');
  address.port = String(proxy.port);
  const env = { DATABASE_URL: address.href, LATCHKEY_KEYS: generateKey(), PORT: '0' };
  const service = startOperator(env, 'serve');
  await until(() => proxy.connections() > 2, 'connections to the database');
  proxy.disturb(undefined);
  await until(() => service.stderr().includes('Latchkey is ready'), 'the start of the service');
  expect(service.stderr().match(/cannot be reached/g)).toHaveLength(1);
  service.kill('SIGTERM');
  expect(await service.exited).toBe(0);
});

test('a database that does not exist stops the start', async () => {
  const url = (await startPostgres()).url('nowhere');
  const env = { DATABASE_URL: url, LATCHKEY_KEYS: generateKey(), PORT: '0' };
  const { code, stderr } = await runOperatorProcess(env, 'serve');
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^latchkey-server: DATABASE_URL [^\n]*nowhere[^\n]*\n$/),
  ]);
});

test('doctor does not call a service ready whose database is down', async () => {
  const address = new URL(await (await startPostgres()).createDatabase());
  const proxy = await startFaultProxy(Number(address.port));
  address.port = String(proxy.port);
  const service = await startService({ databaseUrl: address.href });
  expect((await runOperator(service.env, 'doctor')).stdout).toMatch(
    /^ok +the service is running and ready$/m,
  );
  proxy.disturb('cut');
  const { code, stdout } = await runOperator(service.env, 'doctor');
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/^failed +a service is running, but .*\/readyz answers 503/m),
  ]);
  proxy.disturb(undefined);
});

test('health succeeds in silence while the service is ready, also if it listens on every address', async () => {
  const service = await startService({ env: { HOST: '0.0.0.0' } });
  expect(await runOperator(service.env, 'health')).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('health fails without a service, and when the service is not ready', async () => {
  const check = (port: number) => runOperator({ HOST: '127.0.0.1', PORT: String(port) }, 'health');
  const port = reservePort();
  expect(await check(port)).toEqual({
    code: 1,
    stdout: '',
    stderr: `latchkey-server: No response from http://127.0.0.1:${port}/readyz.\n`,
  });
  const draining = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(null, { status: 503 }),
  });
  expect(await check(draining.port!)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('/readyz answers 503'),
  });
  await draining.stop(true);
});
