// How the cost of a request grows with something: one request at several sizes, in alternating rounds, as a table.

import { cells, costCells, costHeads, medianOf, table } from './cells.ts';
import { watchOthers } from './others.ts';
import { type Measurement, number, othersLine } from './report.ts';
import { runRounds, type Sample, type Side } from './rounds.ts';

/** A request at one size. */
export interface Measured {
  readonly request: string;
  /** How many there are of what grows. */
  readonly size: number;
}

export interface Case extends Measured {
  readonly run: Side['run'];
}

interface GrowthOptions {
  readonly what: string;
  /** What grows. */
  readonly grows: string;
  readonly counted?: number;
  /** Processes that belong to the measurement although this process did not start them. */
  readonly ours?: readonly number[];
}

/** The default number of rounds that count. */
const rounds = 5;

const nameOf = ({ request, size }: Measured): string => cells([request, size.toLocaleString('en')]);

/** CPU microseconds of a request, in the service and the database together. */
const allMicros = ({ cpuSeconds, databaseCpuSeconds = 0, count }: Sample): number =>
  ((cpuSeconds + databaseCpuSeconds) / count) * 1e6;

/** Runs all cases in rounds. The last column compares the CPU time of each with that of the same request at the first size. */
export async function measureGrowth(
  cases: readonly Case[],
  { what, grows, counted = rounds, ours }: GrowthOptions,
): Promise<Measurement> {
  const othersShare = watchOthers(ours);
  const sides = cases.map((one) => ({ name: nameOf(one), run: one.run }));
  const samples = await runRounds(sides, { counted, warmUps: 1 });
  const lines = growthLines(cases, samples, grows);
  return { what, details: [...lines, '', `${counted} counted rounds. ${othersLine(othersShare())}`] };
}

/** The table of the medians of all rounds. */
function growthLines(
  cases: readonly Measured[],
  samples: ReadonlyMap<string, readonly Sample[]>,
  grows: string,
): string[] {
  const micros = (one: Measured) => medianOf(samples.get(nameOf(one))!, allMicros);
  const sorted = cases.toSorted((a, b) => a.request.localeCompare(b.request));
  const lines = sorted.map((one) => {
    const first = cases.find(({ request }) => request === one.request)!;
    const ratio = number(micros(one) / micros(first));
    return cells([
      one.request.replace(/^[^,]+/, (path) => `\`${path}\``),
      one.size.toLocaleString('en'),
      ...costCells(samples.get(nameOf(one))!),
      ratio,
    ]);
  });
  return table(['request', grows, ...costHeads, 'CPU, times the first'], lines);
}
