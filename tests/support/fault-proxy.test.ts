// What each disturbance does to open connections and to new ones.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { until } from './until.ts';

/** Echoes what it gets. */
const echo = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: { data: (socket, data) => void socket.write(data) },
});
let proxy: FaultProxy;

beforeAll(async () => {
  proxy = await startFaultProxy(echo.port);
});

afterAll(() => {
  proxy.close();
  echo.stop(true);
});

/** A connection, and what has come back over it: its end is `end`, and a reset `close`. */
async function open(): Promise<{ socket: Socket; seen: string[]; untilSeen(what: string): Promise<void> }> {
  const seen: string[] = [];
  const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('data', (data) => seen.push(String(data)));
  socket.on('end', () => seen.push('end'));
  socket.on('error', () => {});
  socket.on('close', () => seen.push('close'));
  const untilSeen = (what: string) => until(() => seen.includes(what), what);
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, seen, untilSeen };
}

test('undisturbed, data passes both ways', async () => {
  const { socket, untilSeen } = await open();
  socket.write('one');
  await untilSeen('one');
  socket.destroy();
});

test('cut closes what is open and what follows', async () => {
  const before = await open();
  before.socket.write('one');
  await before.untilSeen('one');
  proxy.disturb('cut');
  await before.untilSeen('close');
  const after = await open();
  await after.untilSeen('close');
  proxy.disturb(undefined);
  expect(after.seen).not.toContain('one');
});

test('hang holds data back until it ends, and closes nothing', async () => {
  const { socket, seen, untilSeen } = await open();
  proxy.disturb('hang');
  socket.write('late');
  // Another connection is answered meanwhile, so the held data had the time to pass.
  const other = connect(echo.port, '127.0.0.1', () => other.write('x'));
  await new Promise((resolve) => other.once('data', resolve));
  expect(seen).toEqual([]);
  proxy.disturb(undefined);
  await untilSeen('late');
  other.destroy();
  socket.destroy();
});

test.each(['slow', 'reorder'] as const)('%s keeps the order within a connection', async (how) => {
  const { socket, seen } = await open();
  proxy.disturb(how);
  for (const piece of ['a', 'b', 'c']) socket.write(piece);
  await until(() => seen.join('').length >= 3, 'three bytes');
  expect(seen.join('')).toBe('abc');
  proxy.disturb(undefined);
  socket.destroy();
});

test('half close ends the answers, of open connections and of new ones', async () => {
  const before = await open();
  before.socket.write('one');
  await before.untilSeen('one');
  proxy.disturb('half close');
  await before.untilSeen('end');
  const after = await open();
  await after.untilSeen('end');
  proxy.disturb(undefined);
  for (const { socket, seen } of [before, after]) {
    expect(seen).not.toContain('close');
    socket.destroy();
  }
});
