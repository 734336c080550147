// What the samples of a soak say: how each curve grows, whether that is flat, and both as lines of text. Pure functions.

/** What was measured in one window. */
export interface Sample {
  /** From the start of the soak to the end of the window. */
  readonly atSeconds: number;
  /** Of the process of the service. */
  readonly residentBytes: number;
  readonly descriptors: number;
  /** CPU time as a share of one core. */
  readonly cpuShare: number;
  readonly databaseBytes: number;
  /** Sorted. */
  readonly latenciesMs: readonly number[];
  readonly requestsPerSecond: number;
}

const mib = 1024 * 1024;

/** The value that this share of the sorted values does not exceed; 0 without values. */
export const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;

const latency = (share: number) => (sample: Sample) => percentile(sample.latenciesMs, share);

/** The values that are reported. How much of its mean each may grow during the second half; absent if it is not judged. */
const curves: Readonly<Record<string, { of: (sample: Sample) => number; maxGrowthShare?: number }>> = {
  'requests/s': { of: ({ requestsPerSecond }) => requestsPerSecond },
  'CPU %': { of: ({ cpuShare }) => cpuShare * 100 },
  'memory MiB': { of: ({ residentBytes }) => residentBytes / mib, maxGrowthShare: 0.1 },
  'open files': { of: ({ descriptors }) => descriptors, maxGrowthShare: 0.1 },
  'database MiB': { of: ({ databaseBytes }) => databaseBytes / mib, maxGrowthShare: 0.1 },
  'p50 ms': { of: latency(0.5) },
  'p99 ms': { of: latency(0.99) },
  'p99.9 ms': { of: latency(0.999), maxGrowthShare: 0.5 },
};

/** How a curve ran during the second half. */
export interface Trend {
  readonly mean: number;
  /** By least squares. */
  readonly perHour: number;
  /** The growth during the second half, as a share of the mean. */
  readonly growthShare: number;
  readonly maxGrowthShare: number | undefined;
  readonly isFlat: boolean;
}

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The slope of the straight line with the least squares through the points; 0 if there is no such line. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = meanOf(points.map(([x]) => x));
  const meanY = meanOf(points.map(([, y]) => y));
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}

/** How each curve ran during the second half of the samples, of which there must be one. */
export function trendsOf(samples: readonly Sample[]): Map<string, Trend> {
  const half = samples.slice(Math.floor(samples.length / 2));
  const seconds = half.at(-1)!.atSeconds - half[0]!.atSeconds;
  return new Map(
    Object.entries(curves).map(([name, { of, maxGrowthShare }]) => {
      const perSecond = slopeOf(half.map((sample) => [sample.atSeconds, of(sample)]));
      const mean = meanOf(half.map(of));
      const growthShare = mean === 0 ? 0 : (perSecond * seconds) / mean;
      const isFlat = maxGrowthShare === undefined || growthShare <= maxGrowthShare;
      return [name, { mean, perHour: perSecond * 3_600, growthShare, maxGrowthShare, isFlat }];
    }),
  );
}

const cellWidth = 13;
const padded = (cells: readonly string[]): string => cells.map((cell) => cell.padStart(cellWidth)).join('');

export const sampleHeading = padded(['minutes', ...Object.keys(curves)]);

export const sampleLine = (sample: Sample): string =>
  padded([sample.atSeconds / 60, ...Object.values(curves).map(({ of }) => of(sample))].map(shown));

const shown = (value: number): string => value.toFixed(2);
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

function verdictOf({ maxGrowthShare, isFlat }: Trend, isJudged: boolean): string {
  if (maxGrowthShare === undefined) return '';
  const verdict = isJudged ? (isFlat ? 'flat' : 'NOT FLAT') : 'too short to judge';
  return `  ${verdict} (at most ${percent(maxGrowthShare)})`;
}

/** The trends of the second half, one line each. */
export const trendLines = (trends: ReadonlyMap<string, Trend>, isJudged: boolean): string[] => [
  padded(['second half', 'mean', 'per hour', 'growth']),
  ...[...trends].map(
    ([name, trend]) =>
      padded([name, shown(trend.mean), shown(trend.perHour), percent(trend.growthShare)]) +
      verdictOf(trend, isJudged),
  ),
];
