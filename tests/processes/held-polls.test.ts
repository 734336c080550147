// Held polls over real connections: clients that go away, a service that stops, and many at once.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import postgres from 'postgres';
import { loginByMail, request } from '../support/http.ts';
import { isLong } from '../support/long.ts';
import { startPostgres } from '../support/postgres.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const many = isLong ? 5_000 : 500;

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

/** Waits until so many polls are held. The row of a device says when its poll will be answered, from before it waits until it ends. */
async function untilHeld({ env }: TestService, count: number): Promise<void> {
  const url = env['DATABASE_URL']!;
  const held = (now: string) =>
    `SELECT count(*) AS n FROM device_authorizations WHERE status = 'pending' AND last_poll_at > ${now} * 1000`;
  const isReached = ([row]: readonly { n: number | string }[]) => Number(row?.n) === count;
  const what = `${count} held polls`;
  if (url.startsWith('sqlite:')) {
    const database = new Database(url.slice('sqlite:'.length), { readonly: true });
    const query = database.query<{ n: number }, []>(held("unixepoch('subsec')"));
    await until(() => isReached(query.all()), what);
    database.close();
    return;
  }
  const sql = postgres(url, { max: 1 });
  const statement = held('extract(epoch FROM clock_timestamp())');
  await until(async () => isReached(await sql.unsafe<{ n: string }[]>(statement)), what);
  await sql.end();
}

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
  await untilHeld(nodes[0]!, 1);
  await approve(nodes[1]!, token, device);
  expect(await held.answer).toStartWith('HTTP/1.1 200 OK');
  held.socket.destroy();
});

test('a node that is killed leaves nothing behind that keeps its device from signing in', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const [killed, other] = await Promise.all([1, 2].map(() => startService({ databaseUrl })));
  const browser = await loginByMail(other!.url, 'ada@example.com');
  const device = await start(killed!);
  const held = await hold(killed!, device.device_code);
  held.socket.on('error', () => undefined);
  await untilHeld(killed!, 1);
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
    await untilHeld(node!, 1);
    socket[close]();
    await untilHeld(node!, 0);
    await approve(node!, token, device);
    expect((await poll(node!, device)).status).toBe(200);
  },
);

test(`${many} held polls are all answered when the service stops`, async () => {
  const service = await startService();
  const inTurn = async <T>(work: () => Promise<T>): Promise<T[]> => {
    const done: T[] = [];
    while (done.length < many) done.push(...(await Promise.all(Array.from({ length: 100 }, work))));
    return done;
  };
  const devices = await inTurn(() => start(service));
  const held = await inTurn(() => hold(service, devices.pop()!.device_code));
  await untilHeld(service, many);
  const stopped = service.stop();
  const answers = await Promise.all(held.map(({ answer }) => answer));
  expect(await stopped).toBe(0);
  const expected = /^HTTP\/1\.1 400 .*\r\npreference-applied: wait=25\r\n.*"error":"authorization_pending"/is;
  expect(answers.filter((answer) => !expected.test(answer)).slice(0, 3)).toEqual([]);
  for (const { socket } of held) socket.destroy();
});
