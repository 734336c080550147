import type { Database, DatabaseOptions } from './executor.ts';
import { inspectDatabase } from './inspect.ts';
import { canWorkWith, newerStore } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite, sqlitePathOf } from './sqlite.ts';

/**
 * Opens the database of a URL and brings its schema up to date. Creates a SQLite file that does not exist.
 * @throws {Error} when the database is unreachable, or this program cannot work on the schema of a newer release
 */
export function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const path = sqlitePathOf(url);
  return path === undefined ? openPostgres(url, options) : openSqlite(path, options);
}

/**
 * Opens an existing database without creating or migrating anything.
 * @throws {Error} when the database is unreachable or missing, or has a schema that this program cannot work on
 */
export async function openExistingDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const { pending, later } = await inspectDatabase(url);
  if (!later.every((name) => canWorkWith(name))) throw newerStore();
  if (pending.length > 0) {
    throw new Error(
      'the database was written by an older release of Latchkey; run `latchkey-server migrate` or start the service',
    );
  }
  return openDatabase(url, { ...options, asIs: true });
}
