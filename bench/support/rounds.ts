// Compares two sides in many short, alternating rounds, so that other activity on the machine affects both.

import { watchOthers } from './others.ts';

/** The result of one side in one round. */
export interface Sample {
  readonly count: number;
  readonly seconds: number;
  /** CPU seconds of the measured process alone. */
  readonly cpuSeconds: number;
  /** CPU seconds of a database with its own processes. */
  readonly databaseCpuSeconds?: number;
  /** Bytes that the measured process wrote to disk. */
  readonly bytesWritten?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly p999Ms?: number;
}

export interface Side {
  readonly name: string;
  /** Runs one round. The first ones are for warming up and do not count. */
  run(): Promise<Sample>;
}

/** The default number of rounds that count. */
const rounds = 9;
/** Duration of one side in one round. */
export const roundSeconds = 1;

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

export const rateOf = ({ count, seconds }: Sample): number => count / seconds;

/** CPU microseconds of the measured process for each request. */
export const cpuMicros = ({ count, cpuSeconds }: Sample): number => (cpuSeconds / count) * 1e6;

export interface Comparison {
  readonly subject: { readonly name: string; readonly samples: readonly Sample[] };
  readonly baseline: { readonly name: string; readonly samples: readonly Sample[] };
  /** The rate of the subject divided by that of the baseline, for each round. */
  readonly ratios: readonly number[];
  /** The CPU time of a baseline request divided by that of a subject request: 0.5 means the subject takes twice as much. */
  readonly cpuRatios: readonly number[];
  /** The share of both cores that other processes took. */
  readonly othersShare: number;
}

export interface CompareOptions {
  /** How many rounds count. */
  readonly counted?: number;
  /** Processes that belong to the measurement although this process did not start them. */
  readonly ours?: readonly number[];
}

/** The maximum number of repeated rounds in which one side got no CPU time at all. */
const maxRepeats = 5;

export async function compare(
  subject: Side,
  baseline: Side,
  { counted = rounds, ours }: CompareOptions = {},
): Promise<Comparison> {
  const othersShare = watchOthers(ours);
  const pairs: { subject: Sample; baseline: Sample }[] = [];
  for (let round = 0; pairs.length <= counted; round++) {
    if (round > counted + maxRepeats) throw new Error('the machine is too busy to measure anything');
    const pair = round % 2 === 0 ? await inTurn(subject, baseline) : await inReverse(subject, baseline);
    if (round === 0 || Object.values(pair).every(({ count }) => count > 0)) pairs.push(pair);
  }
  const measured = pairs.slice(1);
  return {
    subject: { name: subject.name, samples: measured.map((pair) => pair.subject) },
    baseline: { name: baseline.name, samples: measured.map((pair) => pair.baseline) },
    ratios: measured.map((pair) => rateOf(pair.subject) / rateOf(pair.baseline)),
    cpuRatios: measured.map((pair) => cpuMicros(pair.baseline) / cpuMicros(pair.subject)),
    othersShare: othersShare(),
  };
}

/** Runs any number of sides in rounds, each time in another order. The first rounds are for warming up and do not count. */
export async function runRounds(
  sides: readonly Side[],
  { counted, warmUps }: { readonly counted: number; readonly warmUps: number },
): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(sides.map(({ name }) => [name, []]));
  for (let round = 0; round < warmUps + counted; round++) {
    for (let turn = 0; turn < sides.length; turn++) {
      const { name, run } = sides[(round + turn) % sides.length]!;
      const sample = await run();
      if (round >= warmUps && sample.count > 0) samples.get(name)!.push(sample);
    }
  }
  return samples;
}

const inTurn = async (subject: Side, baseline: Side) => ({
  subject: await subject.run(),
  baseline: await baseline.run(),
});

const inReverse = async (subject: Side, baseline: Side) => ({
  baseline: await baseline.run(),
  subject: await subject.run(),
});
