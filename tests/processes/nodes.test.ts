// Several service processes on one PostgreSQL database.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { loginByMail, request } from '../support/http.ts';
import { startPostgres } from '../support/postgres.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let nodes: TestService[];

beforeAll(async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  // All at once, because migrations must run under a lock.
  nodes = await Promise.all([1, 2, 3].map(() => startService({ databaseUrl })));
});

afterAll(async () => {
  for (const node of nodes) await node.stop();
});

const nodeOf = (index: number): string => nodes[index % nodes.length]!.url;

test('while the database restarts, requests get at worst a 503, and the nodes recover', async () => {
  const tokens = await loginByMail(nodeOf(0), 'restart@example.com');
  const statuses = new Set<number>();
  const ask = async (index: number) => {
    const { status } = await request(nodeOf(index), 'GET', '/me', { token: tokens.access_token });
    statuses.add(status);
    return status;
  };
  let running = true;
  const load = Array.from({ length: 6 }, async (_, index) => {
    while (running) await ask(index);
  });
  await (await startPostgres()).restart('immediate');
  for (const index of nodes.keys()) await until(async () => (await ask(index)) === 200, `node ${index}`);
  running = false;
  await Promise.all(load);
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
});

test('processes on PostgreSQL share a port, and when one ends, the other one answers', async () => {
  const [first] = nodes as [TestService];
  const second = await startService({
    databaseUrl: first.env['DATABASE_URL']!,
    env: { PORT: new URL(first.url).port },
  });
  await until(
    () => second.logs().some((line) => line.includes('"msg":"Latchkey is ready"')),
    'the start of the second node',
  );
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
