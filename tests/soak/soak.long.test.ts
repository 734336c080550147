// The short form of a soak: every kind of request gets its answer, and the report has its samples. What has to stay flat is judged by the
// long form: npm run test:soak.

import { expect, test } from 'bun:test';
import { runSoak } from './run-soak.ts';
import { sampleHeading, sampleLine, trendLines, trendsOf } from './trends.ts';

test.skipIf(process.platform !== 'linux')(
  'every kind of request of a soak gets the answer that it should',
  async () => {
    const soak = { store: 'sqlite', seconds: 6, sampleSeconds: 2, fullSeconds: 4 } as const;
    const result = await runSoak(soak);
    const { samples, visits, load, exitCode, isJudged } = result;
    expect(load.unexpected).toEqual([]);
    // Four visits together send every kind of request.
    expect(visits).toBeGreaterThan(3);
    expect(exitCode).toBe(0);

    expect(samples).toHaveLength(3);
    for (const { residentBytes, descriptors, databaseBytes, cpuShare, latenciesMs } of samples)
      for (const value of [residentBytes, descriptors, databaseBytes, cpuShare, latenciesMs.length])
        expect(value).toBeGreaterThan(0);
    expect(isJudged).toBe(false);
    for (const line of [sampleHeading, sampleLine(samples[0]!), ...trendLines(trendsOf(samples), isJudged)])
      expect(line).not.toContain('NaN');
  },
);
