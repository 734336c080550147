// The short form of a soak: every kind of request gets its answer, and the report has its samples. What has to stay flat is judged by the
// long form: npm run test:soak.

import { expect, test } from 'bun:test';
import { seed } from '../support/seed.ts';
import { sampleHeading, sampleLine, trendLines } from './report.ts';
import { runSoak } from './run-soak.ts';
import { trendsOf } from './trends.ts';

test.skipIf(process.platform !== 'linux')(
  'every kind of request of a soak gets the answer that it should',
  async () => {
    const soak = { store: 'sqlite', seconds: 6, sampleSeconds: 2, fullSeconds: 4, seed } as const;
    const result = await runSoak(soak);
    const { samples, missing, unexpected, exitCode, isJudged } = result;
    expect({ seed, missing, unexpected }).toEqual({ seed, missing: [], unexpected: [] });
    expect(exitCode).toBe(0);

    expect(samples).toHaveLength(3);
    for (const { residentBytes, descriptors, databaseBytes, cpuShare, p50Ms, p999Ms } of samples) {
      for (const value of [residentBytes, descriptors, databaseBytes, cpuShare, p50Ms])
        expect(value).toBeGreaterThan(0);
      expect(p999Ms).toBeGreaterThanOrEqual(p50Ms);
    }
    expect(isJudged).toBe(false);
    for (const line of [sampleHeading, sampleLine(samples[0]!), ...trendLines(trendsOf(samples), isJudged)])
      expect(line).not.toContain('NaN');
  },
);
