// Several service processes on one PostgreSQL database.

import { expect, test } from 'bun:test';
import { startPostgres } from '#support/postgres.ts';
import { startService, type TestService } from '#support/service.ts';
import { until } from '#support/until.ts';

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
