// What a trend finds in samples with a known growth.

import { expect, test } from 'bun:test';
import { percentile, type Sample, trendLines, trendsOf } from './trends.ts';

const mib = 1024 * 1024;

const sample = (atSeconds: number, residentMib: number): Sample => ({
  atSeconds,
  residentBytes: residentMib * mib,
  descriptors: 20,
  cpuShare: 0.5,
  databaseBytes: mib,
  latenciesMs: [1, 2, 3],
  requestsPerSecond: 100,
});

/** The trends of one sample every ten seconds, whose memory is this many MiB. */
const trendsWith = (memory: (index: number) => number) =>
  trendsOf(Array.from({ length: 60 }, (_, index) => sample((index + 1) * 10, memory(index))));

test('growth of the first half is forgiven, and that of the second half is not', () => {
  const settled = trendsWith((index) => Math.min(100 + index * 5, 200));
  expect(settled.get('memory MiB')).toMatchObject({ perHour: 0, isFlat: true });
  const leaking = trendsWith((index) => 100 + index);
  expect(leaking.get('memory MiB')!.isFlat).toBe(false);
  // 1 MiB every 10 s.
  expect(leaking.get('memory MiB')!.perHour).toBeCloseTo(360);
  expect(trendLines(leaking, true).filter((line) => line.includes('NOT FLAT'))).toHaveLength(1);
});

test('a curve that falls or swings around its mean is flat', () => {
  for (const memory of [(index: number) => 300 - index, (index: number) => 100 + (index % 2) * 50])
    expect(trendsWith(memory).get('memory MiB')!.isFlat).toBe(true);
});

test('a single sample has no slope, and no values have no percentile', () => {
  expect(trendsOf([sample(10, 100)]).get('memory MiB')).toMatchObject({
    perHour: 0,
    mean: 100,
    isFlat: true,
  });
  expect(percentile([], 0.5)).toBe(0);
});

test('a percentile is a value that was measured', () => {
  const values = Array.from({ length: 1_000 }, (_, index) => index + 1);
  expect([0.5, 0.99, 0.999].map((share) => percentile(values, share))).toEqual([500, 990, 999]);
});
