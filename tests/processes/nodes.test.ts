// Several service processes on one PostgreSQL database.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { loginByMail, request } from '../support/http.ts';
import { startPostgres } from '../support/postgres.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const parallel = 64;
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

const refreshEverywhere = (refresh_token: string, headers: Record<string, string> = {}) =>
  Promise.all(
    Array.from({ length: parallel }, (_, index) =>
      request(nodeOf(index), 'POST', '/refresh', { json: { refresh_token }, headers }),
    ),
  );

test('of 64 parallel refreshes of one token on three nodes exactly one succeeds, and no session ends', async () => {
  const other = await loginByMail(nodeOf(0), 'race@example.com');
  const tokens = await loginByMail(nodeOf(1), 'race@example.com');
  const answers = await refreshEverywhere(tokens.refresh_token);
  const winners = answers.filter((answer) => answer.status === 200);
  expect(winners).toHaveLength(1);
  // A busy database may refuse some before it has looked at their token.
  expect(answers.filter(({ status }) => status === 400 || status === 503)).toHaveLength(parallel - 1);
  for (const token of [winners[0]!.body.access_token, tokens.access_token, other.access_token]) {
    expect((await request(nodeOf(2), 'GET', '/me', { token })).status).toBe(200);
  }
  const next = { json: { refresh_token: winners[0]!.body.refresh_token } };
  expect((await request(nodeOf(2), 'POST', '/refresh', next)).status).toBe(200);
});

test('64 parallel refreshes with one Idempotency-Key on three nodes get identical responses', async () => {
  const tokens = await loginByMail(nodeOf(0), 'retry@example.com');
  const answers = await refreshEverywhere(tokens.refresh_token, { 'Idempotency-Key': 'one request' });
  const sets = answers.map(({ status, body }) => `${status} ${body.access_token} ${body.refresh_token}`);
  expect(new Set(sets).size).toBe(1);
  expect(answers[0]!.status).toBe(200);
});

test('a session revoked on one node is refused by every other node as soon as the response is sent', async () => {
  const tokens = await loginByMail(nodeOf(0), 'out@example.com');
  expect((await request(nodeOf(0), 'POST', '/revoke', { token: tokens.access_token })).status).toBe(204);
  for (const node of nodes) {
    expect((await request(node.url, 'GET', '/me', { token: tokens.access_token })).status).toBe(401);
  }
});

test('device polls that race on three nodes start one session', async () => {
  const browser = await loginByMail(nodeOf(0), 'device@example.com');
  const { body } = await request(nodeOf(1), 'POST', '/device', { json: { client_name: 'test' } });
  const approval = { token: browser.access_token, json: { user_code: body.user_code } };
  expect((await request(nodeOf(2), 'POST', '/device/approve', approval)).status).toBe(204);
  const polls = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      request(nodeOf(index), 'POST', '/token', { json: { device_code: body.device_code } }),
    ),
  );
  expect(polls.filter((poll) => poll.status === 200)).toHaveLength(1);
  expect(polls.every((poll) => poll.status === 200 || poll.body.error === 'invalid_grant')).toBe(true);
  const { body: list } = await request(nodeOf(0), 'GET', '/sessions', { token: browser.access_token });
  expect(list.sessions.filter((session: { kind: string }) => session.kind === 'device')).toHaveLength(1);
});

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
