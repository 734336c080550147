// The database of every floor: the service's statements by the service's drivers, and on SQLite one commit for all units of work
// that have arrived. No retries, timeouts, savepoints or hooks.

import { Database } from 'bun:sqlite';
import postgres from 'postgres';
import type { Executor, Value } from '../../packages/server/src/platform/database/executor.ts';
import { int8AsNumber } from '../../packages/server/src/platform/database/postgres-primary.ts';

/** As many as the service opens. */
const connections = 16;

type Work<T> = (tx: Executor) => Promise<T>;

export interface FloorDatabase {
  readonly read: Executor;
  /** A statement that is a transaction of its own. */
  readonly single: Executor;
  transaction<T>(work: Work<T>): Promise<T>;
}

export const openDatabase = (url: string): FloorDatabase =>
  url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length)) : openPostgres(url);

function openSqlite(path: string): FloorDatabase {
  const connect = () => {
    const db = new Database(path, { strict: true });
    for (const pragma of [
      'journal_mode = WAL',
      'synchronous = FULL',
      'foreign_keys = ON',
      'cache_size = -8192',
      'wal_autocheckpoint = 200',
    ])
      db.run(`PRAGMA ${pragma}`);
    const run = async <Row>(text: string, values: readonly Value[]) =>
      db.query<Row, Value[]>(text).all(...values);
    return { db, executor: { dialect: 'sqlite', run } as Executor };
  };
  const [reader, writer] = [connect(), connect()];
  let waiting: (() => Promise<() => void>)[] = [];
  const commit = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    writer.db.run('BEGIN IMMEDIATE');
    const settle: (() => void)[] = [];
    for (const run of batch) settle.push(await run());
    writer.db.run('COMMIT');
    for (const resolve of settle) resolve();
  };
  let isCommitting = false;
  const flush = async (): Promise<void> => {
    for (; waiting.length > 0; await new Promise(setImmediate)) await commit();
    isCommitting = false;
  };
  const transaction = <T>(work: Work<T>): Promise<T> =>
    new Promise((resolve) => {
      waiting.push(async () => {
        const value = await work(writer.executor);
        return () => resolve(value);
      });
      if (isCommitting) return;
      isCommitting = true;
      setImmediate(flush);
    });
  const single = {
    dialect: 'sqlite',
    run: <Row>(text: string, values: readonly Value[]) => transaction((tx) => tx.run<Row>(text, values)),
  } as const;
  return { read: reader.executor, single, transaction };
}

function openPostgres(url: string): FloorDatabase {
  const sql = postgres(url, { max: connections, types: { int8: int8AsNumber }, onnotice: () => undefined });
  const executorOn = (on: postgres.Sql | postgres.TransactionSql): Executor => ({
    dialect: 'postgres',
    run: async <Row>(text: string, values: readonly Value[]) =>
      (await on.unsafe(text, values as Value[], { prepare: true })) as unknown as Row[],
  });
  const pool: Executor = { ...executorOn(sql), gathers: true };
  const transaction = async <T>(work: Work<T>): Promise<T> => {
    const writes: Promise<unknown>[] = [];
    const result = await sql.begin((tx) => {
      const { run } = executorOn(tx);
      const write = async (text: string, values: readonly Value[]): Promise<never[]> => {
        writes.push(run(text, values));
        return [];
      };
      return work({ dialect: 'postgres', run, write });
    });
    await Promise.all(writes);
    return result as T;
  };
  return { read: pool, single: pool, transaction };
}
