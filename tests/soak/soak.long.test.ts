// The short form of a soak: every kind of request gets its answer, and the report has its samples and its picture. What has to stay
// flat is judged by the long form: npm run test:soak.

import { expect, test } from 'bun:test';
import { seed } from '../support/seed.ts';
import { drawChart } from './chart.ts';
import { sampleHeading, sampleLine, trendLines } from './report.ts';
import { runSoak } from './run-soak.ts';
import { trendsOf } from './trends.ts';

/** Throws unless every element is closed in order and every attribute is quoted. */
function requireWellFormed(xml: string): void {
  const open: string[] = [];
  const text = xml.replaceAll(
    /<(\/?)(\w+)((?: [\w:-]+="[^"<]*")*)\s*(\/?)>/g,
    (_, end, name, _all, empty) => {
      if (end && open.pop() !== name) throw new Error(`</${name}> closes nothing`);
      if (!end && !empty) open.push(name);
      return '';
    },
  );
  if (open.length > 0 || /[<&]/.test(text)) throw new Error(`not well-formed: ${open} ${text}`);
}

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

    const chart = drawChart('A soak', samples);
    expect(() => requireWellFormed(chart)).not.toThrow();
    expect(chart).not.toContain('NaN');
    expect(() => requireWellFormed(chart.replace('</style>', ''))).toThrow();
  },
);
