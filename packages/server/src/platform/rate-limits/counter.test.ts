import { expect, test } from 'bun:test';
import { openApp } from '#support/app.ts';
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

test('the memory counter keeps a bounded number of keys and drops the oldest first', async () => {
  for (const [counter, max] of [
    [memoryCounter({ quota: 1, windowSeconds: 600 }, 3), 3],
    [memoryCounter({ quota: 30, windowSeconds: 60 }), maxKeysInMemory],
  ] as const) {
    const pointsOf = async (key: number) => (await counter.count(`${key}`, 0)).points;
    for (let key = 0; key <= max; key++) expect(await pointsOf(key)).toBe(1);
    for (let key = 1; key <= max; key++) expect(await pointsOf(key)).toBe(2);
    expect(await pointsOf(0)).toBe(1);
  }
});
