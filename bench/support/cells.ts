// Tables in Markdown.

import { number } from './report.ts';
import { cpuMicros, median, rateOf, type Sample } from './rounds.ts';

export const storeName = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;

export const cells = (values: readonly string[]): string => `| ${values.join(' | ')} |`;

/** The lines of a table, whose first column has text and the others numbers. */
export const table = (heads: readonly string[], lines: readonly string[]): string[] => [
  cells(heads),
  `|---|${'--:|'.repeat(heads.length - 1)}`,
  ...lines,
];

export const medianOf = (samples: readonly Sample[], of: (sample: Sample) => number): number =>
  median(samples.map(of));

/** CPU microseconds of the process for each request, and those of a database with its own processes. */
export function cpuCell(samples: readonly Sample[]): string {
  const own = number(medianOf(samples, cpuMicros));
  const database = medianOf(
    samples,
    ({ databaseCpuSeconds = 0, count }) => (databaseCpuSeconds / count) * 1e6,
  );
  return database > 0 ? `${own} + ${number(database)}` : own;
}

export const costHeads = ['requests/s', 'CPU, µs', 'p50, ms', 'p99, ms', 'p99.9, ms'];

/** The medians of rounds, for the columns of `costHeads`. */
export const costCells = (samples: readonly Sample[]): string[] => {
  const of = (value: (sample: Sample) => number) => number(medianOf(samples, value));
  return [
    of(rateOf),
    cpuCell(samples),
    of(({ p50Ms = 0 }) => p50Ms),
    of(({ p99Ms = 0 }) => p99Ms),
    of(({ p999Ms = 0 }) => p999Ms),
  ];
};
