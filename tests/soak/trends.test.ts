// What a trend finds in samples with a known growth.

import { expect, test } from 'bun:test';
import { percentile, trendsOf } from './trends.ts';

const mib = 1024 * 1024;

/** How memory runs over samples of every ten seconds, in MiB by the number of the sample. */
const memoryOf = (memory: (index: number) => number, count = 60) =>
  trendsOf(
    Array.from({ length: count }, (_, index) => ({
      ...{ atSeconds: (index + 1) * 10, residentBytes: memory(index) * mib, descriptors: 20, cpuShare: 0.5 },
      ...{ databaseBytes: mib, latenciesMs: [1, 2, 3], requestsPerSecond: 100 },
    })),
  )['memory MiB'];

test.each([
  [
    'growth of the first half',
    (index: number) => Math.min(100 + index * 5, 200),
    { perHour: 0, isFlat: true },
  ],
  [
    'growth of the second half, by 1 MiB every 10 s',
    (index: number) => 100 + index,
    { perHour: 360, isFlat: false },
  ],
  ['a curve that falls', (index: number) => 300 - index, { isFlat: true }],
  ['a curve that swings around its mean', (index: number) => 100 + (index % 2) * 50, { isFlat: true }],
])('%s is judged by the second half', (_, memory, trend) => {
  expect(memoryOf(memory)).toMatchObject(trend);
});

test('a single sample has no slope, and a percentile is a value that was measured, if there is one', () => {
  expect(memoryOf(() => 100, 1)).toMatchObject({ perHour: 0, mean: 100, isFlat: true });
  const values = Array.from({ length: 1_000 }, (_, index) => index + 1);
  expect([0.5, 0.99, 0.999].map((share) => percentile(values, share))).toEqual([500, 990, 999]);
  expect(percentile([], 0.5)).toBe(0);
});
