import { describe, expect, test } from 'bun:test';
import { openApp } from '../../../../../tests/support/app.ts';
import { maxKeysInMemory, memoryCounter, sharedCounter } from './limiter.ts';

test('a window has never more than its length left, also by the clock of a node that is behind', async () => {
  const t = await openApp('postgres');
  const now = t.ctx.clock();
  for (const [behindMs, leftMs] of [
    [0, 60_000],
    [1, 60_000],
    [-1, 59_999],
  ] as const) {
    const node = { db: t.ctx.db, clock: () => now - behindMs };
    const counter = sharedCounter(node, 'device_authorizations', { quota: 30, windowSeconds: 60 });
    expect((await counter.count('a')).leftMs).toBe(leftMs);
  }
});

describe('counting in memory', () => {
  test('the memory counter keeps at most its maximum of keys and drops the oldest first', async () => {
    const counter = memoryCounter(() => 0, { quota: 1, windowSeconds: 600 }, 3);
    for (const key of ['a', 'b', 'c', 'd']) expect((await counter.count(key)).allowed).toBe(true);
    for (const key of ['b', 'c', 'd']) expect((await counter.count(key)).allowed).toBe(false);
    expect((await counter.count('a')).allowed).toBe(true);
  });

  test('the memory counter needs no more memory for 200,000 client addresses than for 20,000', async () => {
    const counter = memoryCounter(() => 0, { quota: 30, windowSeconds: 60 });
    const fill = async (from: number, to: number) => {
      for (let index = from; index < to; index++) await counter.count(`2001:db8:${index.toString(16)}::/64`);
      Bun.gc(true);
      return process.memoryUsage().heapUsed;
    };
    const full = await fill(0, 2 * maxKeysInMemory);
    const flooded = await fill(2 * maxKeysInMemory, 200_000);
    expect(flooded - full).toBeLessThan(4 * 1024 * 1024);
  });
});
