import type { Database as Connection } from 'bun:sqlite';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect as KyselyDialect,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import postgres from 'postgres';
import type { Executor, Value } from '../executor.ts';
import { MigrationAdapter } from '../migrate.ts';
import { asStoreError as asPostgresError, int8AsNumber } from '../postgres.ts';
import { findPrimary } from '../postgres-primary.ts';
import { asStoreError as asSqliteError, connect, executorOn, whenFree } from '../sqlite.ts';

const connectTimeoutSeconds = 2;
const busyDeadlineMs = 10_000;

/**
 * Runs `work` in one transaction of any length on a connection of its own, and commits it. Creates a SQLite file that does not
 * exist, and removes it again if that fails.
 * @throws {AuthError} `temporarily_unavailable`, with its cause, when the database cannot be used
 */
export const inLongTransaction = <T>(url: string, work: (tx: Executor) => Promise<T>): Promise<T> =>
  url.startsWith('sqlite:') ? onSqlite(url.slice('sqlite:'.length), work) : onPostgres(url, work);

async function onSqlite<T>(path: string, work: (tx: Executor) => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const isNew = !existsSync(path);
  try {
    const connection = await whenFree(busyDeadlineMs, () => connect(path, { create: true }));
    try {
      await whenFree(busyDeadlineMs, () => connection.run('BEGIN IMMEDIATE'));
      const result = await work(executorOn(connection, undefined));
      connection.run('COMMIT');
      return result;
    } catch (error) {
      rollBack(connection);
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

/** Only the last connection to a SQLite file can leave WAL, so this spares a file that another process has opened. */
function removeUnused(connection: Connection, path: string): void {
  try {
    connection.run('PRAGMA journal_mode = DELETE');
    rmSync(path);
  } catch {
    // In use. It is empty.
  }
}

function rollBack(connection: Connection): void {
  if (connection.inTransaction) connection.run('ROLLBACK');
}

async function onPostgres<T>(url: string, work: (tx: Executor) => Promise<T>): Promise<T> {
  const sql = postgres(await findPrimary(url), {
    max: 1,
    connect_timeout: connectTimeoutSeconds,
    onnotice: () => undefined,
    connection: { application_name: 'latchkey restore' },
    types: { int8: int8AsNumber },
  });
  try {
    return (await sql.begin((tx) =>
      work({
        dialect: 'postgres',
        run: async <Row>(text: string, values: readonly Value[]) =>
          [...(await tx.unsafe(text, values as Value[], { prepare: true }))] as unknown as Row[],
      }),
    )) as T;
  } catch (error) {
    throw asPostgresError(error);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** For Kysely's migrations: everything runs on the executor, in the transaction that it is in. */
export function dialectOn(tx: Executor): KyselyDialect {
  const connection: DatabaseConnection = {
    executeQuery: async <Row>({ sql, parameters }: CompiledQuery) => ({
      rows: await tx.run<Row>(sql, parameters as readonly Value[]),
    }),
    streamQuery: () => {
      throw new Error('a migration streams no rows');
    },
  };
  const nothing = async (): Promise<void> => undefined;
  const isPostgres = tx.dialect === 'postgres';
  return {
    createAdapter: () => (isPostgres ? new MigrationAdapter() : new SqliteAdapter()),
    createDriver: () => ({
      init: nothing,
      acquireConnection: async () => connection,
      beginTransaction: nothing,
      commitTransaction: nothing,
      rollbackTransaction: nothing,
      releaseConnection: nothing,
      destroy: nothing,
    }),
    createIntrospector: (db) => (isPostgres ? new PostgresIntrospector(db) : new SqliteIntrospector(db)),
    createQueryCompiler: () => (isPostgres ? new PostgresQueryCompiler() : new SqliteQueryCompiler()),
  };
}
