import { Database as Connection } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { appliedMigrations, migrationNames } from './migrate.ts';
import { withConnection, withoutPreparation } from './postgres-primary.ts';
import { whenFree } from './sqlite.ts';

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
