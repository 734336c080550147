import { Database as Connection, SQLiteError } from 'bun:sqlite';
import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Executor } from './executor.ts';
import { appliedMigrations, migrationNames } from './migrate.ts';
import { executorOn as postgresExecutor } from './postgres.ts';
import { withConnection, withoutPreparation } from './postgres-primary.ts';
import { executorOn as sqliteExecutor, whenFree } from './sqlite.ts';

/** How long another process may keep the file busy, for example to recover it. */
const busyDeadlineMs = 5_000;

/** What a database reveals without being changed. */
export interface Inspection {
  /** Migrations of this program that were not applied yet. */
  readonly pending: readonly string[];
  /** Migrations of a newer release, which this program does not have. */
  readonly later: readonly string[];
  /** How far the database's clock is ahead of this machine's. Null on SQLite. */
  readonly clockAheadMs: number | null;
  /** How many connections the server has for all but its administrators. Null on SQLite. */
  readonly maxConnections: number | null;
  /** The name of the database if any role of the server may connect to it. Null otherwise, and on SQLite. */
  readonly openToPublic: string | null;
}

/** `reserved_connections` exists since PostgreSQL 16. */
const unreservedConnections = `SELECT current_setting('max_connections')::int
  - current_setting('superuser_reserved_connections')::int
  - coalesce(current_setting('reserved_connections', true)::int, 0) AS connections`;

const noStore = (): Error =>
  new Error('there is no store yet; run `latchkey-server migrate` or start the service to create it');

/** Whether a database is whole and takes writes. */
export interface Condition {
  /** Damage that the database finds in its pages, up to a limit. Reads all of a SQLite file. */
  readonly damage: readonly string[];
  /** Why it takes no writes. */
  readonly unwritable: string | undefined;
}

/** How many findings about damaged pages are reported. */
const maxDamage = 10;

/** With less free space on its disk, a SQLite file may not be able to grow. */
const minFreeBytes = 16 * 1024 * 1024;

/** @throws {Error} when the database is unreachable */
export const examineDatabase = (url: string): Promise<Condition> =>
  url.startsWith('sqlite:')
    ? whenFree(busyDeadlineMs, () => examineSqlite(url.slice('sqlite:'.length)))
    : examinePostgres(url);

function examineSqlite(path: string): Condition {
  const connection = new Connection(path, { readonly: true });
  try {
    return { damage: findDamage(connection), unwritable: whyUnwritable(path) };
  } finally {
    connection.close();
  }
}

function findDamage(connection: Connection): string[] {
  try {
    return connection
      .query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${maxDamage})`)
      .all()
      .map((row) => row.integrity_check)
      .filter((text) => text !== 'ok');
  } catch (error) {
    // Some pages are needed for the check itself.
    if (error instanceof SQLiteError && error.code?.startsWith('SQLITE_CORRUPT')) return [error.message];
    throw error;
  }
}

function whyUnwritable(path: string): string | undefined {
  const directory = dirname(path);
  try {
    for (const one of [path, directory]) accessSync(one, constants.W_OK);
  } catch (error) {
    return (error as Error).message;
  }
  const { bavail, bsize } = statfsSync(directory);
  const freeBytes = bavail * bsize;
  return freeBytes < minFreeBytes
    ? `only ${Math.floor(freeBytes / 1024)} KiB are free on its disk`
    : undefined;
}

const examinePostgres = (url: string): Promise<Condition> =>
  withConnection(url, withoutPreparation, async (sql) => {
    const [row] = await sql.unsafe<{ read_only: string; failures: number | null }[]>(
      `SELECT current_setting('transaction_read_only') AS read_only, checksum_failures AS failures
       FROM pg_stat_database WHERE datname = current_database()`,
    );
    const failures = row?.failures ?? 0;
    return {
      damage: failures > 0 ? [`checksums of ${failures} pages failed`] : [],
      unwritable: row?.read_only === 'on' ? 'it accepts reads only' : undefined,
    };
  });

/** Lets `work` read a database without changing it. */
export async function withReader<T>(url: string, work: (read: Executor) => Promise<T>): Promise<T> {
  if (!url.startsWith('sqlite:'))
    return withConnection(url, withoutPreparation, (sql) => work(postgresExecutor(sql, false)));
  const connection = new Connection(url.slice('sqlite:'.length), { readonly: true });
  try {
    return await work(sqliteExecutor(connection, undefined));
  } finally {
    connection.close();
  }
}

/** @throws {Error} when the database is unreachable, or has no Latchkey schema */
export async function inspectDatabase(url: string): Promise<Inspection> {
  const { applied, ...found } = await (url.startsWith('sqlite:')
    ? whenFree(busyDeadlineMs, () => inspectSqlite(url.slice('sqlite:'.length)))
    : inspectPostgres(url));
  const names = new Set(applied.map(({ name }) => name));
  return {
    pending: migrationNames.filter((name) => !names.has(name)),
    later: [...names].filter((name) => !migrationNames.includes(name)),
    ...found,
  };
}

function inspectSqlite(path: string) {
  if (!existsSync(path)) throw noStore();
  const connection = new Connection(path, { readonly: true });
  try {
    const [table] = connection
      .query<object, []>("SELECT 1 FROM sqlite_master WHERE name = 'kysely_migration'")
      .all();
    if (!table) throw noStore();
    return {
      applied: connection.query<{ name: string }, []>(appliedMigrations).all(),
      clockAheadMs: null,
      maxConnections: null,
      openToPublic: null,
    };
  } finally {
    connection.close();
  }
}

const inspectPostgres = (url: string) =>
  withConnection(url, withoutPreparation, async (sql) => {
    const [{ name } = { name: null }] = await sql.unsafe<{ name: string | null }[]>(
      "SELECT to_regclass('kysely_migration')::text AS name",
    );
    if (name === null) throw noStore();
    const applied = await sql.unsafe<{ name: string }[]>(appliedMigrations);
    const [row] = await sql.unsafe<{ now: number }[]>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 AS now',
    );
    const clockAheadMs = row!.now * 1000 - Date.now();
    const [limit] = await sql.unsafe<{ connections: number }[]>(unreservedConnections);
    const [open] = await sql.unsafe<{ name: string }[]>(
      "SELECT current_database() AS name WHERE has_database_privilege('public', current_database(), 'CONNECT')",
    );
    return {
      applied: [...applied],
      clockAheadMs,
      maxConnections: limit!.connections,
      openToPublic: open?.name ?? null,
    };
  });
