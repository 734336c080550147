// The security log with a million rows and more on PostgreSQL: whether reading a log, appending to it and sweeping it cost the
// same at any size of the table.

import postgres from 'postgres';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Database, Executor } from '../../packages/server/src/platform/database/executor.ts';
import { int8AsNumber } from '../../packages/server/src/platform/database/postgres.ts';
import { cells, cpuCell, medianOf, table } from '../support/cells.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { countingPages } from '../support/explain.ts';
import { allMicros } from '../support/growth.ts';
import { eventsOfAccount, fillLog, type Log, type Operation, operationsOn } from '../support/large-log.ts';
import { cpuOf } from '../support/load.ts';
import { watchOthers } from '../support/others.ts';
import { type Figure, type Measurement, number, othersLine } from '../support/report.ts';
import { median, runRounds, type Side } from '../support/rounds.ts';

/** Ten million rows take 5 GB. */
const rowsOfLogs = [1_000_000, 10_000_000];
/** As many as the sweep of the service takes in a batch. */
const operationsOfRound = 500;
const counted = 5;
/** How many of each operation are explained. */
const explained = 11;

const undo = new Error('not kept');

/** How many pages of the database one operation touches: the median of a few, which are undone. */
async function pagesOf(log: Log, databaseUrl: string, operation: Operation): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined, types: { int8: int8AsNumber } });
  const counts: number[] = [];
  while (counts.length < explained) {
    const undone = sql.begin(async (tx) => {
      const { on, pages } = countingPages(tx);
      const transaction = <T>(work: (on: Executor) => Promise<T>) => work(on);
      const count = await operationsOn(log, { read: on, transaction } as Database)[operation](1);
      counts.push(pages() / count);
      throw undo;
    });
    await undone.catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  }
  await sql.end();
  return median(counts);
}

interface Row {
  readonly operation: Operation;
  readonly rows: number;
  readonly pages: number;
  readonly run: Side['run'];
}

/** Runs operations in this process, whose CPU time is that of the service here. */
async function sampleOf(databasePid: number, run: (count: number) => Promise<number>) {
  const used = { url: '', pid: process.pid, databasePid };
  const [before, started] = [cpuOf(used), performance.now()];
  const count = await run(operationsOfRound);
  const seconds = (performance.now() - started) / 1000;
  const after = cpuOf(used);
  const databaseCpuSeconds = after.database - before.database;
  return { count, seconds, cpuSeconds: after.service - before.service, databaseCpuSeconds };
}

async function rowsOf(log: Log, databaseUrl: string, { pid }: Cluster): Promise<Row[]> {
  const db = await openDatabase(databaseUrl, { log: { warn: () => undefined }, poolSize: 1 });
  const operations = Object.entries(operationsOn(log, db)) as [
    Operation,
    (count: number) => Promise<number>,
  ][];
  const rows: Row[] = [];
  for (const [operation, run] of operations) {
    const pages = await pagesOf(log, databaseUrl, operation);
    rows.push({ operation, rows: log.rows, pages, run: () => sampleOf(pid, run) });
  }
  return rows;
}

async function measure(cluster: Cluster): Promise<Measurement> {
  const all: Row[] = [];
  for (const rows of rowsOfLogs) {
    const databaseUrl = await cluster.createDatabase();
    all.push(...(await rowsOf(await fillLog(databaseUrl, rows), databaseUrl, cluster)));
  }
  const sorted = all.toSorted((a, b) => a.operation.localeCompare(b.operation));
  const nameOf = ({ operation, rows }: Row) => `${operation} ${rows}`;
  const othersShare = watchOthers([cluster.pid]);
  const sides = sorted.map((row) => ({ name: nameOf(row), run: row.run }));
  const samples = await runRounds(sides, { counted, warmUps: 1 });
  const lines = sorted.map((row) => {
    const of = samples.get(nameOf(row))!;
    const first = samples.get(nameOf(sorted.find(({ operation }) => operation === row.operation)!))!;
    return cells([
      ...[row.operation, row.rows.toLocaleString('en'), number(row.pages), cpuCell(of)],
      number(medianOf(of, ({ seconds, count }) => (seconds / count) * 1000)),
      number(medianOf(of, allMicros) / medianOf(first, allMicros)),
    ]);
  });
  return {
    what: `The security log by its rows, ${eventsOfAccount} for each account, PostgreSQL`,
    details: [
      ...table(['operation', 'rows', 'pages', 'CPU, µs', 'ms', 'CPU, times the first'], lines),
      '',
      `${counted} counted rounds of ${operationsOfRound} operations. ${othersLine(othersShare())}`,
    ],
  };
}

export const securityLog: Figure = {
  name: 'security-log',
  run: async () => [await measure(await startCluster())],
};
