// What a trend finds in samples with a known growth.

import { expect, test } from 'bun:test';
import { curves, percentile, type Sample, slopeOf, trendOf } from './trends.ts';

const mib = 1024 * 1024;

const sample = (atSeconds: number, residentMib: number): Sample => ({
  atSeconds,
  residentBytes: residentMib * mib,
  descriptors: 20,
  cpuShare: 0.5,
  databaseBytes: mib,
  requestsPerSecond: 100,
  statuses: { 200: 1_000 },
  p50Ms: 1,
  p99Ms: 2,
  p999Ms: 3,
});

const every10Seconds = (memory: (index: number) => number): Sample[] =>
  Array.from({ length: 60 }, (_, index) => sample((index + 1) * 10, memory(index)));

test('growth of the first half is forgiven, and that of the second half is not', () => {
  const settled = trendOf(
    curves.memory,
    every10Seconds((index) => Math.min(100 + index * 5, 200)),
  );
  expect(settled).toMatchObject({ perHour: 0, isFlat: true, afterDay: 200 });
  const leaking = trendOf(
    curves.memory,
    every10Seconds((index) => 100 + index),
  );
  expect(leaking.isFlat).toBe(false);
  // 1 MiB every 10 s.
  expect(leaking.perHour).toBeCloseTo(360);
  expect(leaking.afterDay).toBeCloseTo(159 + 8_640);
});

test('a curve that falls or swings around its mean is flat', () => {
  expect(
    trendOf(
      curves.memory,
      every10Seconds((index) => 300 - index),
    ).isFlat,
  ).toBe(true);
  expect(
    trendOf(
      curves.memory,
      every10Seconds((index) => 100 + (index % 2) * 50),
    ).isFlat,
  ).toBe(true);
});

test('a single sample has no slope, and no values have no percentile', () => {
  expect(trendOf(curves.memory, [sample(10, 100)])).toMatchObject({ perHour: 0, last: 100, isFlat: true });
  expect(slopeOf([])).toBe(0);
  expect(percentile([], 0.5)).toBe(0);
});

test('a percentile is a value that was measured', () => {
  const values = Array.from({ length: 1_000 }, (_, index) => index + 1);
  expect([0.5, 0.99, 0.999].map((share) => percentile(values, share))).toEqual([500, 990, 999]);
});
