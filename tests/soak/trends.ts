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
  readonly requestsPerSecond: number;
  readonly statuses: Readonly<Record<number, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
}

/** A value of the samples that is reported, and how much of its mean it may grow during the second half. */
export interface Curve {
  readonly name: string;
  readonly unit: string;
  readonly of: (sample: Sample) => number;
  /** Absent if the curve is not judged. */
  readonly maxGrowthShare?: number;
}

const mib = 1024 * 1024;

export const curves = {
  memory: {
    name: 'Resident memory',
    unit: 'MiB',
    of: ({ residentBytes }) => residentBytes / mib,
    maxGrowthShare: 0.1,
  },
  descriptors: {
    name: 'Open files',
    unit: '',
    of: ({ descriptors }) => descriptors,
    maxGrowthShare: 0.1,
  },
  database: {
    name: 'Database size',
    unit: 'MiB',
    of: ({ databaseBytes }) => databaseBytes / mib,
    maxGrowthShare: 0.1,
  },
  p999: { name: 'Latency p99.9', unit: 'ms', of: ({ p999Ms }) => p999Ms, maxGrowthShare: 0.5 },
  p99: { name: 'Latency p99', unit: 'ms', of: ({ p99Ms }) => p99Ms },
  p50: { name: 'Latency p50', unit: 'ms', of: ({ p50Ms }) => p50Ms },
  cpu: { name: 'CPU', unit: '% of a core', of: ({ cpuShare }) => cpuShare * 100 },
  requests: { name: 'Requests', unit: '/s', of: ({ requestsPerSecond }) => requestsPerSecond },
} as const satisfies Record<string, Curve>;

/** How a curve ran during the second half. */
export interface Trend {
  readonly curve: Curve;
  readonly mean: number;
  /** By least squares. */
  readonly perHour: number;
  readonly last: number;
  /** What the straight line reaches a day after the end. */
  readonly afterDay: number;
  /** The growth during the second half, as a share of the mean. */
  readonly growthShare: number;
  readonly isFlat: boolean;
}

const daySeconds = 86_400;

/** The slope of the straight line with the least squares through the points; 0 if there is no such line. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const meanOf = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanX = meanOf(points.map(([x]) => x));
  const meanY = meanOf(points.map(([, y]) => y));
  let above = 0;
  let below = 0;
  for (const [x, y] of points) {
    above += (x - meanX) * (y - meanY);
    below += (x - meanX) ** 2;
  }
  return below === 0 ? 0 : above / below;
}

/** The samples of the second half. */
const secondHalf = (samples: readonly Sample[]): readonly Sample[] =>
  samples.slice(Math.floor(samples.length / 2));

/** How a curve ran during the second half of the samples, of which there must be one. */
export function trendOf(curve: Curve, samples: readonly Sample[]): Trend {
  const half = secondHalf(samples);
  const [first, last] = [half[0]!, half.at(-1)!];
  const values = half.map(curve.of);
  const perSecond = slopeOf(half.map((sample) => [sample.atSeconds, curve.of(sample)]));
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const growth = perSecond * (last.atSeconds - first.atSeconds);
  const growthShare = mean === 0 ? 0 : growth / mean;
  return {
    curve,
    mean,
    perHour: perSecond * 3_600,
    last: values.at(-1)!,
    afterDay: values.at(-1)! + perSecond * daySeconds,
    growthShare,
    isFlat: curve.maxGrowthShare === undefined || growthShare <= curve.maxGrowthShare,
  };
}

export const trendsOf = (samples: readonly Sample[]): Trend[] =>
  Object.values(curves).map((curve) => trendOf(curve, samples));

/** The value that this share of the sorted values does not exceed; 0 without values. */
export const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
