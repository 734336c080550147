import type { Database as Connection } from 'bun:sqlite';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database, Executor } from './executor.ts';
import {
  asStoreError as asPostgresError,
  beginOn,
  executorOn as executorOnPostgres,
  withoutTimeouts,
} from './postgres.ts';
import { onlyPrimary, withConnection } from './postgres-primary.ts';
import {
  asStoreError as asSqliteError,
  connect,
  executorOn,
  LocalNotifications,
  sqlitePathOf,
  startBusyTimeoutMs,
  whenFree,
} from './sqlite.ts';

/**
 * Runs `work` in one transaction of any length on a connection of its own, and commits it. Creates a SQLite
 * file that does not exist, and removes it again on failure.
 * @throws {AuthError} `temporarily_unavailable`, with its cause, when the database cannot be used
 */
export function inLongTransaction<T>(url: string, work: (tx: Executor) => Promise<T>): Promise<T> {
  const path = sqlitePathOf(url);
  return path === undefined ? onPostgres(url, work) : onSqlite(path, work);
}

async function onSqlite<T>(path: string, work: (tx: Executor) => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const isNew = !existsSync(path);
  try {
    const connection = await whenFree(() => connect(path, { create: true }), startBusyTimeoutMs);
    try {
      await whenFree(() => connection.run('BEGIN IMMEDIATE'), startBusyTimeoutMs);
      const result = await work(executorOn(connection, undefined));
      connection.run('COMMIT');
      return result;
    } catch (error) {
      if (connection.inTransaction) connection.run('ROLLBACK');
      if (isNew) removeUnused(connection, path);
      throw error;
    } finally {
      connection.close();
    }
  } catch (error) {
    if (isNew && existsSync(path) && statSync(path).size === 0) rmSync(path);
    throw asSqliteError(error);
  }
}

/** Only the last connection to a SQLite file can leave WAL, so files that others have opened are spared. */
function removeUnused(connection: Connection, path: string): void {
  try {
    connection.run('PRAGMA journal_mode = DELETE');
    rmSync(path);
  } catch {
    // In use. It is empty.
  }
}

async function onPostgres<T>(url: string, work: (tx: Executor) => Promise<T>): Promise<T> {
  const connection = { application_name: 'latchkey writer', ...withoutTimeouts };
  try {
    return await withConnection(
      url,
      { ...onlyPrimary, connection },
      async (sql) => (await beginOn(sql, (tx) => executorOnPostgres(tx, true), work)) as T,
    );
  } catch (error) {
    throw asPostgresError(error);
  }
}

/** A database whose work all joins one open transaction. The caller that opened it ends it. */
export const databaseWithin = (tx: Executor): Database => ({
  dialect: tx.dialect,
  read: tx,
  single: tx,
  transaction: (work) => work(tx),
  notifications: new LocalNotifications(),
  close: async () => undefined,
});
