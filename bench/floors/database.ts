// The database of every floor: the service's statements by the service's drivers, and on SQLite one commit for all units of work
// that have arrived. No retries, timeouts, savepoints or hooks.

import { Database } from 'bun:sqlite';
import postgres from 'postgres';
import { requiringEffect, runBatch } from '../../packages/server/src/platform/database/combine.ts';
import type { Executor, Value } from '../../packages/server/src/platform/database/executor.ts';
import { int8AsNumber } from '../../packages/server/src/platform/database/postgres-primary.ts';

/** As many as the service opens. */
const connections = 16;

/** How often a batch is tried. */
const maxTries = 20;

type Work<T> = (tx: Executor) => Promise<T>;

export interface FloorDatabase {
  readonly read: Executor;
  /** A statement that is a transaction of its own. */
  readonly single: Executor;
  /** Writes that are one transaction, without rows. False if one of them has no effect. */
  batch(writes: Work<void>): Promise<boolean>;
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
  const batch = (writes: Work<void>): Promise<boolean> =>
    transaction((tx) =>
      writes(requiringEffect(tx)).then(
        () => true,
        () => false,
      ),
    );
  return { read: reader.executor, single, batch };
}

function openPostgres(url: string): FloorDatabase {
  const sql = postgres(url, { max: connections, types: { int8: int8AsNumber }, onnotice: () => undefined });
  const pool: Executor = {
    dialect: 'postgres',
    gathers: true,
    run: async <Row>(text: string, values: readonly Value[]) =>
      (await sql.unsafe(text, values as Value[], { prepare: true })) as unknown as Row[],
    typesOf: async (text) => (await sql.unsafe(text).describe()).types,
  };
  return {
    read: pool,
    single: pool,
    // One that met a lock has no effect: all addresses share 4,096 of them. The service then takes a transaction, which waits.
    batch: async (writes) => {
      for (let tries = 0; tries < maxTries; tries++) if (await runBatch(pool, writes)) return true;
      return false;
    },
  };
}
