import { Database as Connection, SQLiteError } from 'bun:sqlite';
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database, Executor } from './executor.ts';
import { listenerName } from './postgres-notifications.ts';

/** Open until this process ends, and with them the locks. */
const held: Connection[] = [];

/**
 * Locks a SQLite database against other processes that would serve it, until this process ends; false if one does already.
 * The lock is that of an empty database beside the file: the system drops it with the process, also between containers that
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

/** A reason that the operator can act on. */
export class StoreRefusal extends Error {}

/** Opens at once the connection by which `requireUnserved` recognizes a service, not with the first request that waits. */
export const showServing = ({ notifications }: Database): void =>
  void notifications.listen('latchkey_service', () => undefined);

/**
 * Refuses a PostgreSQL database that is served, and keeps starts, which take this row, waiting for the transaction's end.
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
