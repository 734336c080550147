import type { Database, DatabaseOptions } from './executor.ts';
import { inspectDatabase } from './inspect.ts';
import { newerStore } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

/**
 * Opens the store that a database URL names and brings its schema up to date.
 * @throws {Error} when it is out of reach, or newer than this program
 */
export const openDatabase = (url: string, options: DatabaseOptions): Promise<Database> =>
  url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length), options) : openPostgres(url, options);

/**
 * Opens a store that is there already and has the schema of this program. Makes and changes nothing otherwise.
 * @throws {Error} when it is out of reach, not there, or its schema is older or newer
 */
export async function openExistingDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const { pending, isNewer } = await inspectDatabase(url);
  if (isNewer) throw newerStore();
  if (pending.length > 0) {
    throw new Error(
      'the database was written by an older release of Latchkey; run `latchkey-server migrate`, or start the new service',
    );
  }
  return openDatabase(url, { ...options, asIs: true });
}
