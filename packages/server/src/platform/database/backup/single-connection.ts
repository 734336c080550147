import type { Database as Connection } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect as KyselyDialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import postgres from 'postgres';
import type { Executor, Value } from '../executor.ts';
import { int8AsNumber } from '../postgres.ts';
import { connect, executorOn, whenFree } from '../sqlite.ts';

const connectTimeoutSeconds = 2;
const busyDeadlineMs = 10_000;

/**
 * Runs `work` in one transaction of any length on a connection of its own, and commits it. Creates a SQLite file that does not
 * exist.
 */
export const inLongTransaction = <T>(url: string, work: (tx: Executor) => Promise<T>): Promise<T> =>
  url.startsWith('sqlite:') ? onSqlite(url.slice('sqlite:'.length), work) : onPostgres(url, work);

async function onSqlite<T>(path: string, work: (tx: Executor) => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const connection = await whenFree(busyDeadlineMs, () => connect(path, { create: true }));
  try {
    await whenFree(busyDeadlineMs, () => connection.run('BEGIN IMMEDIATE'));
    const result = await work(executorOn(connection, undefined));
    connection.run('COMMIT');
    return result;
  } finally {
    rollBack(connection);
    connection.close();
  }
}

function rollBack(connection: Connection): void {
  if (connection.inTransaction) connection.run('ROLLBACK');
}

async function onPostgres<T>(url: string, work: (tx: Executor) => Promise<T>): Promise<T> {
  const sql = postgres(url, {
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
    createAdapter: () => (isPostgres ? new PostgresAdapter() : new SqliteAdapter()),
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
