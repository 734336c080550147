// Processes of a service on Bun and Node that keep answers with the feed, against two nodes on one PostgreSQL database.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { loginByMail, request } from '#support/http.ts';
import { findNode } from '#support/node.ts';
import { startPostgres } from '#support/postgres.ts';
import { registerService, startService, type TestService } from '#support/service.ts';
import { startWorker, type Worker } from '#support/worker.ts';

const program = 'verifier-worker.ts';
const nodeFlags = ['--no-warnings', '--experimental-strip-types'];
const rounds = 4;

let nodes: TestService[];
let workers: Worker[];

beforeAll(async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  nodes = await Promise.all([1, 2].map(() => startService({ databaseUrl })));
  const [first, second] = nodes as [TestService, TestService];
  const serviceKey = await registerService(first, 'boards', '--may', 'feed');
  const bun = [process.execPath];
  const node = findNode();
  workers = [
    startWorker(bun, program, first.url, serviceKey),
    startWorker(bun, program, second.url, serviceKey),
    ...(node ? [startWorker([node, ...nodeFlags], program, second.url, serviceKey)] : []),
  ];
  for (const worker of workers) expect(await worker.hear()).toBe('ready');
});

afterAll(async () => {
  for (const node of nodes) await node.stop();
});

test('a revoked token is refused by every process of a service that keeps it, whichever node revoked it', async () => {
  for (let round = 0; round < rounds; round++) {
    const [at, other] = [nodes[round % 2]!, nodes[(round + 1) % 2]!];
    const { access_token: token } = await loginByMail(other.url, 'ada@example.com');
    for (const worker of workers) worker.say(token);
    for (const worker of workers) expect(await worker.hear()).toEqual({ active: true });
    const { status } = await request(at.url, 'POST', '/revoke', { token, json: { scope: 'session' } });
    expect(status).toBe(204);
    for (const worker of workers) expect(await worker.hear()).toEqual({ active: false });
  }
  // A process that closes its verifier ends by itself.
  expect(await Promise.all(workers.map((worker) => worker.finish()))).toEqual(workers.map(() => ''));
  expect(await Promise.all(workers.map(({ exited }) => exited))).toEqual(workers.map(() => 0));
});
