// The inputs of the capacity model in docs/capacity.md: bytes of each kind of row with its indexes, and CPU time and bytes
// written for each kind of request. The rows come from real requests: people sign up, add a passkey, log in a device.

import { Database as Connection } from 'bun:sqlite';
import postgres from 'postgres';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { startPostgres } from '../../tests/support/postgres.ts';
import { runOperator } from '../../tests/support/service.ts';
import { capacityLines, type RequestCost } from '../support/capacity.ts';
import { concurrently } from '../support/concurrently.ts';
import { journeyOf, meStoringTheUse } from '../support/journey.ts';
import { connections } from '../support/load.ts';
import { bytesWritten, cpuSeconds, cpuSecondsOfFamily, parentOf } from '../support/processes.ts';
import type { Figure, Measurement } from '../support/report.ts';
import { startService } from '../support/service.ts';
import { sqliteUrl } from '../support/stand.ts';

const people = 2000;
const mailPollMs = 50;

interface TableSize {
  readonly name: string;
  readonly rows: number;
  /** With all indexes. */
  readonly bytes: number;
}

/** Reads the resource usage of a database. */
interface UsageReader {
  sizes(): Promise<TableSize[]>;
  /** CPU seconds used so far by a database with its own processes; 0 on SQLite. */
  cpuSeconds(): number;
  /** Bytes written so far to disk, or on PostgreSQL to the write-ahead log. */
  bytesWritten(): Promise<number>;
  /** Mails waiting to be sent. */
  waitingMails(): Promise<number>;
  /** Moves the last use of all sessions back by ten minutes. */
  age(): Promise<unknown>;
  close(): Promise<void>;
}

const waiting = 'SELECT count(*) AS mails FROM outbox WHERE sent_at IS NULL AND dead_at IS NULL';
const aging = 'UPDATE sessions SET last_used_at = last_used_at - 600000';

function sqliteUsage(databaseUrl: string, service: number): UsageReader {
  const open = () => new Connection(databaseUrl.slice('sqlite:'.length), { readonly: true });
  return {
    sizes: async () => {
      const db = open();
      const tables = db
        .query<{ name: string; bytes: number }, []>(
          `SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema USING (name)
            GROUP BY tbl_name`,
        )
        .all()
        .map(({ name, bytes }) => {
          const row = db.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM "${name}"`).get();
          return { name, bytes, rows: row!.rows };
        });
      db.close();
      return tables;
    },
    cpuSeconds: () => 0,
    bytesWritten: async () => bytesWritten(service),
    waitingMails: async () => {
      const db = open();
      const row = db.query<{ mails: number }, []>(waiting).get();
      db.close();
      return row!.mails;
    },
    age: async () => {
      const db = new Connection(databaseUrl.slice('sqlite:'.length), { readwrite: true });
      db.run('PRAGMA busy_timeout = 10000');
      db.run(aging);
      db.close();
    },
    close: async () => undefined,
  };
}

async function postgresUsage(databaseUrl: string): Promise<UsageReader> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  const postmaster = parentOf((await sql`SELECT pg_backend_pid() AS pid`)[0]!['pid']);
  return {
    sizes: async () => {
      await sql`VACUUM ANALYZE`;
      const tables = await sql<{ name: string; bytes: string; rows: number }[]>`
        SELECT relname AS name, pg_total_relation_size(oid) AS bytes, reltuples AS rows FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`;
      return tables.map(({ name, bytes, rows }) => ({ name, bytes: Number(bytes), rows }));
    },
    cpuSeconds: () => cpuSecondsOfFamily(postmaster),
    bytesWritten: async () =>
      Number((await sql`SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes`)[0]!['bytes']),
    waitingMails: async () => Number((await sql.unsafe(waiting))[0]!['mails']),
    age: () => sql.unsafe(aging),
    close: () => sql.end(),
  };
}

async function measure(databaseUrl: string, dialect: Dialect): Promise<Measurement> {
  const ring = generateKey();
  const server = await startService({ databaseUrl, keys: ring });
  const usage =
    dialect === 'sqlite' ? sqliteUsage(databaseUrl, server.pid) : await postgresUsage(databaseUrl);
  const settings = { DATABASE_URL: databaseUrl, LATCHKEY_KEYS: ring };
  const { stdout } = await runOperator(settings, 'services', 'create', 'bench');
  const service = `Basic ${btoa(stdout.trim().split('\n').at(-1)!)}`;

  const spent = async (): Promise<RequestCost> => ({
    service: cpuSeconds(server.pid),
    database: usage.cpuSeconds(),
    written: await usage.bytesWritten(),
  });
  const requests = new Map<string, RequestCost>();
  let sizes: TableSize[] = [];
  for (const { name, run } of journeyOf({ url: server.url, keys: parseKeyRing(ring), service }, people)) {
    if (name === meStoringTheUse) {
      // Later steps add no rows, and on PostgreSQL the dead rows of `age` would count.
      sizes = await usage.sizes();
      await usage.age();
    }
    const before = await spent();
    await concurrently(connections, people, run);
    // Background work of a request is part of its cost.
    while ((await usage.waitingMails()) > 0) await Bun.sleep(mailPollMs);
    const after = await spent();
    const each = (of: keyof RequestCost) => (after[of] - before[of]) / people;
    requests.set(name, { service: each('service'), database: each('database'), written: each('written') });
  }
  await server.stop();
  await usage.close();

  const rows = new Map(
    sizes.filter(({ rows }) => rows >= people).map(({ name, rows, bytes }) => [name, bytes / rows]),
  );
  return {
    what: `Costs of one request and of one row, ${dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`,
    details: [
      ...[...requests].map(([name, cost]) => costLine(name, cost)),
      ...[...rows].map(([name, bytes]) => `${name}: ${bytes.toFixed(0)} bytes a row`),
      ...capacityLines({ requests, rows }, dialect),
    ],
  };
}

function costLine(name: string, { service, database, written }: RequestCost): string {
  const micros = (seconds: number) => `${(seconds * 1e6).toFixed(0)} us`;
  const databaseCost = database > 0 ? ` and ${micros(database)} of the database` : '';
  return `${name}: ${micros(service)} CPU${databaseCost}, ${written.toFixed(0)} bytes written`;
}

export const costs: Figure = {
  name: 'costs',
  run: async () => [
    await measure(sqliteUrl(), 'sqlite'),
    await measure(await (await startPostgres({ durable: true })).createDatabase(), 'postgres'),
  ],
};
