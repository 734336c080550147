// The report of a soak as lines of text.

import { curves, type Sample, type Trend } from './trends.ts';

/** What is not a success, like `400:12 404:3`. Most of it is asked for; a request without an answer is 0. */
const refusalsIn = (statuses: Sample['statuses']): string =>
  Object.entries(statuses)
    .filter(([status]) => Number(status) < 200 || Number(status) >= 400)
    .map(([status, count]) => `${status}:${count}`)
    .join(' ');

const columns: readonly (readonly [title: string, of: (sample: Sample) => string])[] = [
  ['min', ({ atSeconds }) => (atSeconds / 60).toFixed(1)],
  ['req/s', (sample) => curves.requests.of(sample).toFixed(0)],
  ['CPU %', (sample) => curves.cpu.of(sample).toFixed(0)],
  ['memory MiB', (sample) => curves.memory.of(sample).toFixed(1)],
  ['files', (sample) => curves.descriptors.of(sample).toFixed(0)],
  ['database MiB', (sample) => curves.database.of(sample).toFixed(2)],
  ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(1)],
  ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(1)],
  ['p99.9 ms', ({ p999Ms }) => p999Ms.toFixed(1)],
  ['refusals by status', ({ statuses }) => refusalsIn(statuses)],
];

const minWidth = 7;
const padded = (cells: readonly string[]): string =>
  cells.map((cell, index) => cell.padStart(Math.max(columns[index]![0].length, minWidth))).join(' ');

export const sampleHeading = padded(columns.map(([title]) => title));

export const sampleLine = (sample: Sample): string => padded(columns.map(([, of]) => of(sample)));

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

function verdictOf({ curve: { maxGrowthShare }, isFlat }: Trend, isJudged: boolean): string {
  if (maxGrowthShare === undefined) return '';
  const bound = `(at most ${percent(maxGrowthShare)})`;
  if (!isJudged) return `too short to judge ${bound}`;
  return `${isFlat ? 'flat' : 'NOT FLAT'} ${bound}`;
}

/** The trends of the second half, one line each. */
export const trendLines = (trends: readonly Trend[], isJudged: boolean): string[] => [
  `${'second half'.padEnd(28)}${['mean', 'per hour', 'after a day', 'growth'].map((title) => title.padStart(13)).join('')}`,
  ...trends.map((trend) => {
    const { curve, mean, perHour, afterDay, growthShare } = trend;
    const name = curve.unit === '' ? curve.name : `${curve.name} (${curve.unit})`;
    const numbers = [...[mean, perHour, afterDay].map((value) => value.toFixed(2)), percent(growthShare)];
    const cells = numbers.map((text) => text.padStart(13)).join('');
    return `${name.padEnd(28)}${cells}  ${verdictOf(trend, isJudged)}`.trimEnd();
  }),
];
