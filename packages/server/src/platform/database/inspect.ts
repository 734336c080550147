import { Database as Connection } from 'bun:sqlite';
import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { AuthError } from '../errors.ts';
import { codeOf, reasonOf } from '../telemetry/redact.ts';
import { exists } from '../values/exists.ts';
import type { Executor } from './executor.ts';
import { appliedMigrations, migrationNames } from './migrate.ts';
import { executorOn as postgresExecutor } from './postgres.ts';
import { withConnection, withoutPreparation } from './postgres-primary.ts';
import { executorOn as sqliteExecutor, sqlitePathOf, whenFree } from './sqlite.ts';

const noStore = (): Error =>
  new Error('there is no store yet; run `latchkey-server migrate` or start the service to create it');

/**
 * Lets `work` read a database without changing it. On SQLite, `work` starts over while another process keeps
 * the file busy.
 * @throws {Error} when the database is unreachable or missing
 */
export async function withReader<T>(url: string, work: (read: Executor) => Promise<T>): Promise<T> {
  const path = sqlitePathOf(url);
  if (path === undefined)
    return withConnection(url, withoutPreparation, (sql) => work(postgresExecutor(sql, false)));
  if (!exists(path)) throw noStore();
  return whenFree(async () => {
    const connection = new Connection(path, { readonly: true });
    try {
      return await work(sqliteExecutor(connection, undefined));
    } catch (error) {
      throw error instanceof AuthError ? error.cause : error;
    } finally {
      connection.close();
    }
  });
}

export type Inspection = Awaited<ReturnType<typeof inspectDatabase>>;

const migrationsTable = {
  sqlite: "SELECT 1 AS found FROM sqlite_master WHERE name = 'kysely_migration'",
  postgres: "SELECT 1 AS found WHERE to_regclass('kysely_migration') IS NOT NULL",
};

/**
 * Reports the migrations and the server of a database without changing it.
 * @throws {Error} when the database is unreachable, or has no Latchkey schema
 */
export const inspectDatabase = (url: string) =>
  withReader(url, async (read) => {
    const [table] = await read.run(migrationsTable[read.dialect], []);
    if (!table) throw noStore();
    const applied = (await read.run<{ name: string }>(appliedMigrations, [])).map(({ name }) => name);
    return {
      /** Migrations of this program that were not applied yet. */
      pending: migrationNames.filter((name) => !applied.includes(name)),
      /** Migrations of a newer release, which this program does not have. */
      later: applied.filter((name) => !migrationNames.includes(name)),
      server: read.dialect === 'postgres' ? await inspectServer(read) : undefined,
    };
  });

/** `reserved_connections` exists since PostgreSQL 16. */
async function inspectServer(read: Executor) {
  const [row] = await read.run<{ now: number; connections: number; open: string | null }>(
    `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0) AS connections,
      CASE WHEN has_database_privilege('public', current_database(), 'CONNECT') THEN current_database() END AS open`,
    [],
  );
  const { now, connections, open } = row!;
  return {
    /** How far the database's clock is ahead of this machine's. */
    clockAheadMs: now - Date.now(),
    /** How many connections the server has for all but its administrators. */
    maxConnections: connections,
    /** The name of the database if any role of the server may connect to it. */
    openToPublic: open,
  };
}

const identityTimeoutMs = 5_000;

/** Whether two URLs lead to different databases. Not while one leads to none, or, as in a failover, to a standby. */
export async function areDifferent(...urls: readonly [string, string]): Promise<boolean> {
  const identity = `SELECT current_database() || ' ' || extract(epoch FROM pg_postmaster_start_time()) AS identity
    WHERE NOT pg_is_in_recovery()`;
  const identityOf = (url: string) => withReader(url, (read) => read.run<{ identity: string }>(identity, []));
  const known = Promise.all(urls.map(identityOf)).catch(() => []);
  const [[one] = [], [other] = []] = await Promise.race([known, Bun.sleep(identityTimeoutMs).then(() => [])]);
  return one !== undefined && other !== undefined && one.identity !== other.identity;
}

const protocolViolation = '08P01';

/** Whether a pooler is before the server: it refuses or ignores the parameters with which a connection begins. */
export async function isPooled(url: string): Promise<boolean> {
  const probe = { statement_timeout: 54_321 };
  if (/[?&]statement_timeout=/.test(url)) return false;
  try {
    return await withConnection(url, { ...withoutPreparation, connection: probe }, async (sql) => {
      const [row] = await sql.unsafe<{ statement_timeout: string }[]>('SHOW statement_timeout');
      return row?.statement_timeout !== `${probe.statement_timeout}ms`;
    });
  } catch (error) {
    if (codeOf(error) === protocolViolation) return true;
    throw error;
  }
}

export type Condition = Awaited<ReturnType<typeof examineDatabase>>;

/**
 * The damage that a database finds in all of its pages, up to a limit, and why it accepts no writes.
 * @throws {Error} when the database is unreachable
 */
export const examineDatabase = (url: string) =>
  withReader(url, async (read) => {
    const path = sqlitePathOf(url);
    if (path !== undefined) return { damage: await findDamage(read), unwritable: whyUnwritable(path) };
    const [row] = await read.run<{ read_only: string; failures: number | null }>(
      `SELECT current_setting('transaction_read_only') AS read_only, checksum_failures AS failures
       FROM pg_stat_database WHERE datname = current_database()`,
      [],
    );
    const failures = row?.failures ?? 0;
    return {
      damage: failures > 0 ? [`checksums of ${failures} pages failed`] : [],
      unwritable: row?.read_only === 'on' ? 'it accepts reads only' : undefined,
    };
  });

const maxDamage = 10;

async function findDamage(read: Executor): Promise<string[]> {
  try {
    const rows = await read.run<{ integrity_check: string }>(`PRAGMA integrity_check(${maxDamage})`, []);
    return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
  } catch (error) {
    // Some pages are needed for the check itself.
    const { cause } = error as Error;
    if (codeOf(cause).startsWith('SQLITE_CORRUPT')) return [reasonOf(cause)];
    throw error;
  }
}

/** With less free space on its disk, a SQLite file may not be able to grow. */
const minFreeBytes = 16 * 1024 * 1024;

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
