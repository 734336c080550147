// What stops a start, what it waits for, what other processes share, and how `latchkey-server health`, the check of container images, finds out.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startFaultProxy } from '#support/fault-proxy.ts';
import { startPostgres } from '#support/postgres.ts';
import {
  operatorOn,
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
  await service.login('ada@example.com');
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
  ] as const)
    expect(await runOperatorProcess({ ...service.env, PORT: '0', ...settings }, ...command)).toEqual(refused);
  const missing = /^latchkey-server: LATCHKEY_KEYS is not set, and there is no key file /m;
  await operatorOn(service.env).refused(['services', 'list'], 1, missing);
  expect(existsSync(keyFile)).toBe(false);
  const doctor = await runOperator(service.env, 'doctor');
  expect(doctor.stdout).toMatch(/^failed .*sealed under the server key .*LATCHKEY_KEYS.*latchkey\.keys/m);

  const env = { LATCHKEY_KEYS: other, LATCHKEY_RETIRED_KEYS: own };
  const again = await startService({ directory: service.directory, env });
  await again.login('bob@example.com');
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

test('doctor and health tell a service that is ready, on whatever address it listens, from one without its database, and from none', async () => {
  const address = new URL(await (await startPostgres()).createDatabase());
  const proxy = await startFaultProxy(Number(address.port));
  address.port = String(proxy.port);
  const service = await startService({ databaseUrl: address.href, env: { HOST: '0.0.0.0' } });
  const doctor = () => runOperator(service.env, 'doctor');
  const health = () => runOperator(service.env, 'health');
  /** It gives up after 3 s, in which a stalled machine may not answer. */
  const untilHealth = (code: number, says: string) =>
    until(async () => {
      const { code: status, stderr } = await health();
      return status === code && stderr.includes(says);
    }, `health with status ${code} ${says}`);
  expect((await doctor()).stdout).toMatch(
    /^ok +the service at http:\/\/127\.0\.0\.1:\d+ is running and ready$/m,
  );
  await untilHealth(0, '');

  proxy.disturb('cut');
  const notReady = expect.stringMatching(/^failed +a service is running, but .*\/readyz answers 503/m);
  expect(await doctor()).toMatchObject({ code: 1, stdout: notReady });
  await untilHealth(1, '/readyz answers 503');

  proxy.disturb(undefined);
  await service.stop();
  const stderr = `latchkey-server: No response from http://127.0.0.1:${service.env['PORT']}/readyz.\n`;
  expect(await health()).toEqual({ code: 1, stdout: '', stderr });
});
