import type { Database, DatabaseOptions } from './executor.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

/**
 * Opens the store that a database URL names and brings its schema up to date.
 * @throws {Error} when it is out of reach, or newer than this program
 */
export const openDatabase = (url: string, options: DatabaseOptions): Promise<Database> =>
  url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length), options) : openPostgres(url, options);
