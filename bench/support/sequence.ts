// Operations one after the other, for what does not come as a load over many connections.

import { cpuOf, type Load } from './load.ts';
import type { Sample } from './rounds.ts';

export type Operation = () => Promise<unknown>;
/** Prepares an operation, which does not count. */
export type Prepare = () => Promise<Operation>;

const percentileOf = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(sorted.length * share)]!;

/** The sum of samples of operations that ran one after the other. */
function sumOf(samples: readonly Sample[]): Sample {
  const total = (of: (sample: Sample) => number) => samples.reduce((sum, sample) => sum + of(sample), 0);
  const sorted = samples.map(({ seconds }) => seconds * 1000).toSorted((a, b) => a - b);
  return {
    count: total(({ count }) => count),
    seconds: total(({ seconds }) => seconds),
    cpuSeconds: total(({ cpuSeconds }) => cpuSeconds),
    databaseCpuSeconds: total(({ databaseCpuSeconds = 0 }) => databaseCpuSeconds),
    p50Ms: percentileOf(sorted, 0.5),
    p99Ms: percentileOf(sorted, 0.99),
    p999Ms: percentileOf(sorted, 0.999),
  };
}

async function runOne(server: Load['server'], operation: Operation): Promise<Sample> {
  const [before, started] = [cpuOf(server), performance.now()];
  await operation();
  const seconds = (performance.now() - started) / 1000;
  const after = cpuOf(server);
  return {
    ...{ count: 1, seconds, cpuSeconds: after.service - before.service },
    databaseCpuSeconds: after.database - before.database,
  };
}

/** Prepares and runs operations. The ticks of CPU times are longer than an operation, but their sum is right on average. */
export async function runInSequence(server: Load['server'], operations: readonly Prepare[]): Promise<Sample> {
  const samples: Sample[] = [];
  for (const prepare of operations) samples.push(await runOne(server, await prepare()));
  return sumOf(samples);
}
