// Held polls over real connections: clients that go away, a service that stops, and many at once. That a decision on one node
// ends a poll on another is in sign-in/device/held-polls.test.ts.

import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type DeviceCodes, decideDevice, pollDevice, startDevice } from '#support/devices.ts';
import type { Access } from '#support/driver.ts';
import { isLong } from '#support/long.ts';
import { startPostgres } from '#support/postgres.ts';
import { startService, type TestService } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { openExistingDatabase } from '../../packages/server/src/platform/database/database.ts';
import { createLogger } from '../../packages/server/src/platform/telemetry/log.ts';

const many = isLong ? 5_000 : 500;

/** Sends a poll over a connection of its own, or its head and so much of its body. Resolves when it is sent. */
async function hold({ url }: TestService, { device_code }: DeviceCodes, length?: number) {
  const body = JSON.stringify({ device_code });
  const head = [
    'POST /api/v1/auth/token HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    'Prefer: wait=25',
    `Content-Length: ${body.length}`,
  ].join('\r\n');
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  // A service that is killed resets it.
  socket.on('error', () => {});
  /** The response, once its first part is here; `''` if the connection ends without one. */
  const answer = new Promise<string>((received) => {
    socket.once('data', (data) => received(String(data)));
    socket.once('close', () => received(''));
  });
  await new Promise((sent) => socket.write(`${head}\r\n\r\n${body.slice(0, length)}`, sent));
  return { socket, answer, rest: body.slice(length ?? body.length) };
}

/** Approves a device, which then gets its tokens. */
async function signInDevice(service: TestService, person: Access, device: DeviceCodes): Promise<void> {
  expect((await decideDevice(service, 'approve', device, person)).status).toBe(204);
  expect((await pollDevice(service, device)).status).toBe(200);
}

/**
 * Waits until so many polls are held, or have been. The row of a device says when its poll will be answered, from before it waits until it
 * ends; then, when it ended.
 */
async function untilHeld({ env }: TestService, count: number, orHaveBeen = false): Promise<void> {
  const url = env['DATABASE_URL']!;
  const isSqlite = url.startsWith('sqlite:');
  const db = await openExistingDatabase(url, { log: createLogger('silent') });
  const now = isSqlite ? "unixepoch('subsec')" : 'extract(epoch FROM clock_timestamp())';
  const since = orHaveBeen ? '0' : `${now} * 1000`;
  const held = `SELECT id FROM device_authorizations WHERE status = 'pending' AND last_poll_at > ${since}`;
  await until(async () => (await db.read.run(held, [])).length === count, `${count} held polls`);
  await db.close();
}

test('a node that is killed leaves nothing behind that keeps its device from signing in', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const [killed, other] = await Promise.all([startService({ databaseUrl }), startService({ databaseUrl })]);
  const person = await other.login();
  const device = await startDevice(killed);
  await hold(killed, device);
  await untilHeld(killed, 1);
  await killed.kill();
  await signInDevice(other, person, device);
});

const service = shared(() => startService());

test.each(['end', 'destroy', 'resetAndDestroy'] as const)(
  'a held poll whose client closes its connection (%s) redeems nothing',
  async (close) => {
    const device = await startDevice(service);
    const { socket } = await hold(service, device);
    await untilHeld(service, 1);
    socket[close]();
    await untilHeld(service, 0);
    await signInDevice(service, await service.login(), device);
  },
);

test(`${many} held polls are all answered when the service stops`, async () => {
  const service = await startService();
  const inTurn = async <T>(work: () => Promise<T>): Promise<T[]> => {
    const done: T[] = [];
    while (done.length < many) done.push(...(await Promise.all(Array.from({ length: 100 }, work))));
    return done;
  };
  const devices = await inTurn(() => startDevice(service));
  const held = await inTurn(() => hold(service, devices.pop()!));
  // On a slow machine the first ones have waited long enough before the last one comes.
  await untilHeld(service, many, true);
  const stopped = service.stop();
  const answers = await Promise.all(held.map(({ answer }) => answer));
  expect(await stopped).toBe(0);
  const expected = /^HTTP\/1\.1 400 .*\r\npreference-applied: wait=25\r\n.*"error":"authorization_pending"/is;
  expect(answers.filter((answer) => !expected.test(answer)).slice(0, 3)).toEqual([]);
  for (const { socket } of held) socket.destroy();
});

test('a request that is still arriving when the service stops is answered before it ends', async () => {
  const service = await startService();
  const { socket, answer, rest } = await hold(service, await startDevice(service), 5);
  // Whatever the service reads after this, it has read the beginning of the other one before.
  await startDevice(service);
  const stopped = service.stop();
  const isDraining = () => service.logs().some((line) => line.includes('"msg":"draining"'));
  await until(isDraining, 'the service to stop');
  socket.write(rest);
  expect(await answer).toMatch(/^HTTP\/1\.1 (400|503) /);
  expect(await stopped).toBe(0);
  socket.destroy();
});
