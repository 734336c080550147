// Held polls over real connections: clients that go away, a service that stops, and many at once.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { memoryOf } from '../../bench/support/processes.ts';
import { loginByMail, request } from '../support/http.ts';
import { isLong } from '../support/long.ts';
import { startPostgres } from '../support/postgres.ts';
import { startService, type TestService } from '../support/service.ts';

setDefaultTimeout(60_000);

const many = isLong ? 5_000 : 500;
const maxMemoryBytes = 60e6;
const settledMs = 300;

interface HeldPoll {
  readonly socket: Socket;
  /** The response, once its first part is here. */
  readonly answer: Promise<string>;
}

/** Sends a poll over a connection of its own. Resolves when it is sent. */
function hold(service: TestService, device_code: string, seconds = 25): Promise<HeldPoll> {
  const body = JSON.stringify({ device_code });
  const head = [
    'POST /api/v1/auth/token HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Prefer: wait=${seconds}`,
    `Content-Length: ${body.length}`,
  ].join('\r\n');
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.on('error', reject);
    const answer = new Promise<string>((received) => socket.once('data', (data) => received(String(data))));
    socket.on('connect', () => socket.write(`${head}\r\n\r\n${body}`, () => resolve({ socket, answer })));
  });
}

interface Started {
  readonly device_code: string;
  readonly user_code: string;
}

const start = async ({ url }: TestService): Promise<Started> => (await request(url, 'POST', '/device')).body;

async function approve({ url }: TestService, token: string, { user_code }: Started): Promise<void> {
  const { status } = await request(url, 'POST', '/device/approve', { token, json: { user_code } });
  expect(status).toBe(204);
}

const poll = ({ url }: TestService, { device_code }: Started) =>
  request(url, 'POST', '/token', { json: { device_code } });

let nodes: TestService[];
let token: string;
beforeAll(async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  nodes = await Promise.all([1, 2].map(() => startService({ databaseUrl })));
  ({ access_token: token } = await loginByMail(nodes[0]!.url, 'ada@example.com'));
});
afterAll(async () => {
  for (const node of nodes) await node.stop();
});

test('a decision on one node ends a poll that another node holds', async () => {
  const device = await start(nodes[0]!);
  const held = await hold(nodes[0]!, device.device_code);
  await Bun.sleep(settledMs);
  const startedAt = performance.now();
  await approve(nodes[1]!, token, device);
  expect(await held.answer).toStartWith('HTTP/1.1 200 OK');
  process.stdout.write(`from approval to tokens: ${(performance.now() - startedAt).toFixed(1)} ms\n`);
  held.socket.destroy();
});

test('a node that is killed leaves nothing behind that keeps its device from signing in', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const [killed, other] = await Promise.all([1, 2].map(() => startService({ databaseUrl })));
  const browser = await loginByMail(other!.url, 'ada@example.com');
  const device = await start(killed!);
  const held = await hold(killed!, device.device_code);
  held.socket.on('error', () => undefined);
  await Bun.sleep(settledMs);
  await killed!.kill();
  await approve(other!, browser.access_token, device);
  expect((await poll(other!, device)).status).toBe(200);
  await other!.stop();
});

test.each(['end', 'destroy', 'resetAndDestroy'] as const)(
  'a held poll whose client closes its connection (%s) redeems nothing',
  async (close) => {
    const [node] = nodes;
    const device = await start(node!);
    const { socket } = await hold(node!, device.device_code);
    await Bun.sleep(settledMs);
    socket[close]();
    await Bun.sleep(settledMs);
    await approve(node!, token, device);
    await Bun.sleep(settledMs);
    expect((await poll(node!, device)).status).toBe(200);
  },
);

test(`${many} held polls take less than ${maxMemoryBytes / 1e6} MB, and all of them are answered when the service stops`, async () => {
  const service = await startService();
  const inTurn = async <T>(work: () => Promise<T>): Promise<T[]> => {
    const done: T[] = [];
    while (done.length < many) done.push(...(await Promise.all(Array.from({ length: 100 }, work))));
    return done;
  };
  const devices = await inTurn(() => start(service));
  const plain = [...devices];
  await inTurn(() => poll(service, plain.pop()!));
  await Bun.sleep(5_000);
  const before = memoryOf(service.pid).resident;
  const waiting = [...devices];
  const held = await inTurn(() => hold(service, waiting.pop()!.device_code));
  await Bun.sleep(settledMs);
  const used = memoryOf(service.pid).resident - before;
  process.stdout.write(`${many} held polls: ${(used / 1e6).toFixed(1)} MB\n`);
  expect(used).toBeLessThan(maxMemoryBytes);
  const stopped = service.stop();
  const answers = await Promise.all(held.map(({ answer }) => answer));
  expect(await stopped).toBe(0);
  const expected = /^HTTP\/1\.1 400 .*\r\npreference-applied: wait=25\r\n.*"error":"authorization_pending"/is;
  expect(answers.filter((answer) => !expected.test(answer)).slice(0, 3)).toEqual([]);
  for (const { socket } of held) socket.destroy();
});
