// The short form of a soak: every kind of request gets its answer, and the report has its samples. What has to stay flat is judged by the
// long form: npm run test:soak.

import { expect, test } from 'bun:test';
import { runSoak } from './run-soak.ts';
import { trendsOf, valuesOf } from './trends.ts';

test.skipIf(process.platform !== 'linux')(
  'every kind of request of a soak gets the answer that it should',
  async () => {
    const soak = { store: 'sqlite', seconds: 6, sampleSeconds: 2, fullSeconds: 4 } as const;
    const { samples, load, exitCode, isJudged } = await runSoak(soak);
    // Each of the visitors ends its first visit, and four of them together send every kind of request.
    expect([load.unexpected, exitCode]).toEqual([[], 0]);

    expect(samples).toHaveLength(3);
    for (const { residentBytes, descriptors, databaseBytes } of samples)
      for (const value of [residentBytes, descriptors, databaseBytes]) expect(value).toBeGreaterThan(0);
    // A window in which the machine stalled has neither.
    for (const value of ['cpuShare', 'requestsPerSecond'] as const)
      expect(Math.max(...samples.map((sample) => sample[value]))).toBeGreaterThan(0);
    expect(isJudged).toBe(false);
    for (const values of [valuesOf(samples[0]!), ...Object.values(trendsOf(samples))])
      expect(Object.values(values)).not.toContain(Number.NaN);
    const growing = samples.map((sample, n) => ({ ...sample, residentBytes: (1 + n) * 1_048_576 }));
    expect(trendsOf(growing)['memory MiB']).toMatchObject({ mean: 2.5, isFlat: false });
    const falling = growing.map((sample, n) => ({
      ...sample,
      residentBytes: growing.at(-1 - n)!.residentBytes,
    }));
    expect(trendsOf(falling)['memory MiB']).toMatchObject({ mean: 1.5, isFlat: true });
  },
);
