import { Database as Connection, SQLiteError } from 'bun:sqlite';
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

/** Open until this process ends, and with them the locks. */
const held: Connection[] = [];

/**
 * Locks a SQLite database against other processes that would serve it, until this process ends, however it ends; false if another one
 * holds the lock. Commands that work while the service runs do not take it.
 *
 * The lock is that of an empty database beside the file: the system drops it with the process, also between containers that share a
 * volume.
 */
export function lockStore(path: string): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = existsSync(path) ? realpathSync(path) : path;
  const connection = new Connection(`${file}.lock`, { readwrite: true, create: true });
  try {
    connection.run('BEGIN EXCLUSIVE');
  } catch (error) {
    connection.close();
    if (error instanceof SQLiteError && error.code?.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
  held.push(connection);
  return true;
}
