// What the samples of a soak say: how each curve grows, and whether that is flat. Pure functions.

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
const percentile = (sorted: readonly number[], share: number): number =>
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

const rounded = (value: number): number => Number(value.toFixed(2));

/** A sample as it is reported. */
export const valuesOf = (sample: Sample): Record<string, number> => ({
  minutes: rounded(sample.atSeconds / 60),
  ...Object.fromEntries(Object.entries(curves).map(([name, { of }]) => [name, rounded(of(sample))])),
});

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The slope of the straight line with the least squares through the points; 0 if there is no such line. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = meanOf(points.map(([x]) => x));
  const meanY = meanOf(points.map(([, y]) => y));
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}

/** How a curve ran during the second half of the samples, of which there must be one. Its growth is a share of its mean. */
function trendOf(samples: readonly Sample[], { of, maxGrowthShare }: (typeof curves)[string]) {
  const half = samples.slice(Math.floor(samples.length / 2));
  const perSecond = slopeOf(half.map((sample) => [sample.atSeconds, of(sample)]));
  const mean = meanOf(half.map(of));
  const seconds = half.at(-1)!.atSeconds - half[0]!.atSeconds;
  const growthShare = mean === 0 ? 0 : (perSecond * seconds) / mean;
  const isFlat = maxGrowthShare === undefined || growthShare <= maxGrowthShare;
  return {
    maxGrowthShare,
    isFlat,
    mean: rounded(mean),
    perHour: rounded(perSecond * 3_600),
    growthShare: rounded(growthShare),
  };
}

/** How each curve ran. */
export const trendsOf = (samples: readonly Sample[]): Record<string, ReturnType<typeof trendOf>> =>
  Object.fromEntries(Object.entries(curves).map(([name, curve]) => [name, trendOf(samples, curve)]));
