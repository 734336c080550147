import { Database as Connection, SQLiteError } from 'bun:sqlite';
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Database, type Executor, StoreRefusal } from './executor.ts';
import { listenerName } from './postgres-notifications.ts';

/** Open until this process ends, and with them the locks. */
const held: Connection[] = [];

/**
 * Locks a SQLite database against others that would serve it; false if one holds the lock. It is on an empty
 * database beside the file, so the system releases it when the process ends, also between containers that
 * share a volume.
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

/** Connects before any request waits, so that `requireUnserved` recognizes a process that serves. */
export const showServing = ({ notifications }: Database): void =>
  void notifications.listen('latchkey_service', () => undefined);

/**
 * Refuses a PostgreSQL database that a process serves, and keeps other processes from starting on it until
 * the transaction ends: each start locks this row to look for migrations.
 * @throws {StoreRefusal}
 */
export async function requireUnserved(tx: Executor): Promise<void> {
  await tx.run('SELECT FROM kysely_migration_lock FOR UPDATE', []);
  const listeners = await tx.run(
    `SELECT 1 AS found FROM pg_stat_activity WHERE datname = current_database() AND application_name = '${listenerName}'`,
    [],
  );
  if (listeners.length > 0)
    throw new StoreRefusal('a service uses the database: stop it on every node first');
}
