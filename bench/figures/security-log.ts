// The security log with a million rows and more on PostgreSQL: whether reading a log, appending to it and sweeping it cost the
// same at any size of the table.

import { randomInt } from 'node:crypto';
import postgres from 'postgres';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { systemRandom } from '../../packages/server/src/platform/crypto/random.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Database, Executor } from '../../packages/server/src/platform/database/executor.ts';
import { int8AsNumber } from '../../packages/server/src/platform/database/postgres.ts';
import { createLogger } from '../../packages/server/src/platform/telemetry/log.ts';
import {
  listEvents,
  recordEvent,
  sweepEvents,
} from '../../packages/server/src/security-log/events/events.ts';
import { findChain } from '../../packages/server/src/security-log/events/store.ts';
import { fillInBulk, withoutIndexes } from '../support/bulk.ts';
import { cells, cpuCell, medianOf, table } from '../support/cells.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { countingPages } from '../support/explain.ts';
import { allMicros } from '../support/growth.ts';
import { cpuOf } from '../support/load.ts';
import { watchOthers } from '../support/others.ts';
import { type Figure, type Measurement, number, othersLine } from '../support/report.ts';
import { median, runRounds, type Side } from '../support/rounds.ts';
import { userIdAt } from '../support/store.ts';

/** Ten million rows take 5 GB. */
const rowsOfLogs = [1_000_000, 10_000_000];
const eventsOfAccount = 100;
const retentionMs = 400 * 86_400_000;
/** Between two events of an account. */
const intervalMs = retentionMs / eventsOfAccount;

const pageSize = 50;
/** As many as the sweep of the service takes in a batch. */
const operationsOfRound = 500;
const counted = 5;
/** How many of each operation are explained. */
const explained = 11;

const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';

interface Log {
  readonly rows: number;
  readonly accounts: number;
  readonly databaseUrl: string;
  /** Before it, each account has one event. */
  readonly firstEnd: number;
}

/**
 * Fills a log in the order of time, as if each account had an event every four days: so the events of one account are far
 * apart. They are unsealed, like those of the first release, and as long as sealed ones.
 */
async function fillLog(cluster: Cluster, rows: number): Promise<Log> {
  const databaseUrl = await cluster.createDatabase();
  const accounts = rows / eventsOfAccount;
  await fillInBulk(databaseUrl, accounts);
  const firstStart = Date.now() - retentionMs;
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  // Without triggers, which would number each event on its own.
  await sql`SET session_replication_role = 'replica'`;
  await withoutIndexes(sql, ['events', 'event_positions'], async () => {
    for (let seq = 1; seq <= eventsOfAccount; seq++)
      await sql.unsafe(`
        INSERT INTO events (id, user_id, type, session_id, ip_address, user_agent, detail, created_at, seq, mac)
        SELECT 'evt_' || left(md5(id || ${seq}), 22), id, 'login', 'ses_' || right(md5(id || ${seq}), 22),
          '192.0.2.44', '${userAgent}', '{"method":"magic_link","kind":"browser"}',
          ${firstStart + (seq - 1) * intervalMs} + substr(email, 8, 8)::bigint * ${Math.floor(intervalMs / accounts)},
          ${seq}, '' FROM users`);
    await sql`INSERT INTO event_positions SELECT nextval('event_sequence'), id FROM events`;
  });
  await sql.unsafe(`
    INSERT INTO event_chains (user_id, unsealed, base_seq, base_mac, head_seq, head_mac, head_at, oldest_at, seal)
    SELECT user_id, ${eventsOfAccount}, 0, '', ${eventsOfAccount}, '', ${Date.now()}, created_at, ''
    FROM events WHERE seq = 1`);
  await sql`VACUUM ANALYZE`;
  await sql.end();
  return { rows, accounts, databaseUrl, firstEnd: firstStart + intervalMs };
}

/** What the use cases of the security log need. */
type LogContext = Pick<Context, 'db' | 'logKeys' | 'clock' | 'random' | 'log'>;

/** The operations, each of which resolves with how many it was. */
const operationsOn = (log: Log, from: LogContext) => {
  const ctx = from as Context;
  const userId = () => userIdAt(randomInt(log.accounts));
  const each = async (count: number, run: () => Promise<unknown>) => {
    for (let done = 0; done < count; done++) await run();
    return count;
  };
  return {
    'newest page of an account': (count: number) =>
      each(count, () => listEvents(ctx, { userId: userId() }, { limit: pageSize })),
    'chain of an account': (count: number) =>
      each(count, () => findChain(ctx.db.read, { user_id: userId() })),
    'append an event': (count: number) =>
      each(count, () =>
        ctx.db.transaction((tx) => recordEvent(ctx, tx, { type: 'login', userId: userId() })),
      ),
    'sweep an event': async (count: number) => (await sweepEvents(ctx, log.firstEnd, count)).length,
  };
};

type Operations = ReturnType<typeof operationsOn>;

const base = {
  logKeys: parseKeyRing(generateKey()),
  clock: Date.now,
  random: systemRandom,
  log: createLogger('silent'),
};

const openSql = (log: Log) =>
  postgres(log.databaseUrl, { max: 1, onnotice: () => undefined, types: { int8: int8AsNumber } });

/** How many pages of the database one operation touches: the median of a few, which are not kept. */
async function pagesOf(log: Log, operation: keyof Operations): Promise<number> {
  const sql = openSql(log);
  const counts: number[] = [];
  while (counts.length < explained) {
    const undone = sql.begin(async (tx) => {
      const { on, pages } = countingPages(tx);
      const transaction = <T>(work: (on: Executor) => Promise<T>) => work(on);
      const db = { read: on, transaction } as Database;
      const count = await operationsOn(log, { ...base, db })[operation](1);
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

const undo = new Error('not kept');

interface Row {
  readonly operation: keyof Operations;
  readonly log: Log;
  readonly pages: number;
  readonly side: Side;
}

/** The CPU time is that of this process, which runs the use case, and that of the database. */
async function rowsOf(log: Log, { pid }: Cluster): Promise<Row[]> {
  const db = await openDatabase(log.databaseUrl, { log: { warn: () => undefined }, poolSize: 1 });
  const operations = operationsOn(log, { ...base, db });
  const used = { url: '', pid: process.pid, databasePid: pid };
  const rows: Row[] = [];
  for (const [name, run] of Object.entries(operations)) {
    const operation = name as keyof Operations;
    const side = {
      name: `${name} ${log.rows}`,
      run: async () => {
        const [before, started] = [cpuOf(used), performance.now()];
        const count = await run(operationsOfRound);
        const seconds = (performance.now() - started) / 1000;
        const after = cpuOf(used);
        const databaseCpuSeconds = after.database - before.database;
        return { count, seconds, cpuSeconds: after.service - before.service, databaseCpuSeconds };
      },
    };
    rows.push({ operation, log, side, pages: await pagesOf(log, operation) });
  }
  return rows;
}

async function measure(cluster: Cluster): Promise<Measurement> {
  const rows: Row[] = [];
  for (const count of rowsOfLogs) rows.push(...(await rowsOf(await fillLog(cluster, count), cluster)));
  const sorted = rows.toSorted((a, b) => a.operation.localeCompare(b.operation));
  const othersShare = watchOthers([cluster.pid]);
  const samples = await runRounds(
    sorted.map(({ side }) => side),
    { counted, warmUps: 1 },
  );
  const micros = ({ side }: Row) => medianOf(samples.get(side.name)!, allMicros);
  const lines = sorted.map((row) => {
    const of = samples.get(row.side.name)!;
    const first = sorted.find(({ operation }) => operation === row.operation)!;
    return cells([
      ...[row.operation, row.log.rows.toLocaleString('en'), number(row.pages), cpuCell(of)],
      number(medianOf(of, (sample) => (sample.seconds / sample.count) * 1000)),
      number(micros(row) / micros(first)),
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
