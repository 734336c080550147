import { describe, expect, test } from 'bun:test';
import { openApp } from '../../../../../tests/support/app.ts';
import { rateLimitRules } from '../../settings.ts';
import { createRateLimiter, maxKeysInMemory, memoryCounter } from './limiter.ts';

test('a window has never more than its length left, also by the clock of a node that is behind', async () => {
  const { config, db, metrics, clock } = (await openApp('postgres')).ctx;
  const now = clock();
  for (const [behindMs, left] of [
    [0, 60],
    [1, 60],
    [-1000, 59],
  ] as const) {
    const node = { rules: rateLimitRules, quotas: config.rateLimitQuotas, db, metrics };
    const limiter = createRateLimiter({ ...node, clock: () => now - behindMs });
    const { headers } = await limiter.take({ limit: 'runs', subject: 'a', isReported: true });
    expect(headers['RateLimit']).toEndWith(`;t=${left}`);
  }
});

describe('counting in memory', () => {
  test('the memory counter keeps at most its maximum of keys and drops the oldest first', async () => {
    const counter = memoryCounter({ quota: 1, windowSeconds: 600 }, 3);
    const pointsOf = async (key: string) => (await counter.count(key, 0)).points;
    for (const key of ['a', 'b', 'c', 'd']) expect(await pointsOf(key)).toBe(1);
    for (const key of ['b', 'c', 'd']) expect(await pointsOf(key)).toBe(2);
    expect(await pointsOf('a')).toBe(1);
  });

  test('the memory counter needs no more memory for 200,000 client addresses than for 20,000', async () => {
    const counter = memoryCounter({ quota: 30, windowSeconds: 60 });
    const fill = async (from: number, to: number) => {
      for (let index = from; index < to; index++)
        await counter.count(`2001:db8:${index.toString(16)}::/64`, 0);
      Bun.gc(true);
      return process.memoryUsage().heapUsed;
    };
    const full = await fill(0, 2 * maxKeysInMemory);
    const flooded = await fill(2 * maxKeysInMemory, 200_000);
    expect(flooded - full).toBeLessThan(4 * 1024 * 1024);
  });
});
