import { Database as Connection, SQLiteError, type Statement } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { Kysely, SqliteAdapter, SqliteDialect, sql } from 'kysely';
import { temporarilyUnavailable } from '../errors.ts';
import type { Database, DatabaseOptions, Executor, Value } from './executor.ts';
import { migrate } from './migrate.ts';

/** How long the start may wait for another process that migrates. */
const startBusyTimeoutMs = 10_000;

/** How long a statement may block the event loop while another process writes; after that we wait without blocking. */
const busyTimeoutMs = 20;
const busyPauseMs = 10;
const busyDeadlineMs = 5_000;

/**
 * What each of the two connections keeps of the file. The operating system keeps the rest: more here answered no
 * faster. The file is not mapped either, since every page read would count as ours, and one unreadable page would
 * end the process.
 */
const cacheKiB = 8 * 1024;

/** How many units of work share one commit at most, so that the first in line does not wait without end. */
const maxBatch = 256;

interface Unit {
  run(tx: Executor): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

const connect = (path: string, { create }: { create: boolean }): Connection => {
  const connection = new Connection(path, { readwrite: true, create, strict: true });
  connection.run(`PRAGMA busy_timeout = ${startBusyTimeoutMs}`);
  connection.run('PRAGMA journal_mode = WAL');
  connection.run('PRAGMA synchronous = FULL');
  connection.run('PRAGMA foreign_keys = ON');
  connection.run(`PRAGMA cache_size = -${cacheKiB}`);
  return connection;
};

/** Switching to WAL and recovering it may find the file busy whatever time-out is set: then all of it is done again. */
async function openMigrated(path: string): Promise<Connection> {
  const connection = connect(path, { create: true });
  try {
    await migrate(new Kysely({ dialect: migrationDialect(connection) }));
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Does something that another process may stand in the way of, until a deadline, without blocking anybody. */
export async function whenFree<T>(deadlineMs: number, work: () => T | Promise<T>): Promise<T> {
  for (const deadline = Date.now() + deadlineMs; ; ) {
    try {
      return await work();
    } catch (error) {
      const busy = error instanceof SQLiteError && error.code?.startsWith('SQLITE_BUSY');
      if (!busy || Date.now() > deadline) throw error;
      await Bun.sleep(busyPauseMs);
    }
  }
}

/** A constraint that a statement broke is a defect of ours; everything else is the machine's state. */
const asStoreError = (error: unknown): unknown =>
  error instanceof SQLiteError &&
  !error.code?.startsWith('SQLITE_CONSTRAINT') &&
  error.code !== 'SQLITE_ERROR'
    ? temporarilyUnavailable(error)
    : error;

/**
 * SQLite with one writing and one reading connection. Units of work that arrive in the same turn of the event
 * loop share one commit, each in a savepoint of its own, and are answered only when it is on disk. The reader
 * sees nothing of a commit that is not.
 */
export async function openSqlite(path: string, options: DatabaseOptions): Promise<Database> {
  if (!options.asIs) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const open = () => connect(path, { create: false });
  const writer = await whenFree(startBusyTimeoutMs, options.asIs ? open : () => openMigrated(path));
  const reader = await whenFree(startBusyTimeoutMs, open);
  reader.run('PRAGMA query_only = ON');
  for (const connection of [writer, reader]) connection.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);

  const executor = (connection: Connection): Executor => {
    // The store has a fixed set of statements, so every one of them stays prepared.
    const prepared = new Map<string, Statement>();
    const prepare = (text: string): Statement => {
      const statement = prepared.get(text) ?? connection.prepare(text);
      prepared.set(text, statement);
      return statement;
    };
    return {
      dialect: 'sqlite',
      run: async <Row>(text: string, values: readonly Value[]) => {
        options.onStatement?.(text);
        try {
          return prepare(text).all(...(values as Value[])) as Row[];
        } catch (error) {
          throw asStoreError(error);
        }
      },
    };
  };
  const read = executor(reader);
  const tx = executor(writer);

  const command = (text: string): (() => void) => {
    const statement = writer.prepare(text);
    return () => void statement.run();
  };
  const begin = command('BEGIN IMMEDIATE');
  const commit = command('COMMIT');
  const rollback = command('ROLLBACK');
  const startUnit = command('SAVEPOINT unit');
  const keepUnit = command('RELEASE unit');
  const undoUnit = command('ROLLBACK TO unit');

  let queue: Unit[] = [];
  let flushing: Promise<void> | undefined;

  const runUnit = async (unit: Unit): Promise<() => void> => {
    startUnit();
    try {
      const value = await unit.run(tx);
      keepUnit();
      return () => unit.resolve(value);
    } catch (error) {
      if (!writer.inTransaction) throw error;
      undoUnit();
      keepUnit();
      return () => unit.reject(error);
    }
  };

  const commitTogether = async (batch: readonly Unit[]): Promise<void> => {
    const answers: (() => void)[] = [];
    try {
      // Left open only where the disk refused even to roll back the batch before.
      if (writer.inTransaction) rollback();
      await whenFree(busyDeadlineMs, begin);
      for (const unit of batch) answers.push(await runUnit(unit));
      commit();
    } catch (error) {
      for (const unit of batch) unit.reject(asStoreError(error));
      try {
        if (writer.inTransaction) rollback();
      } catch {
        options.log.warn('a failed batch could not be rolled back yet');
      }
      return;
    }
    for (const answer of answers) answer();
  };

  const flush = async (): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch);
      queue = queue.slice(maxBatch);
      await commitTogether(batch);
      // Requests that arrived during the commit join the next one.
      await new Promise(setImmediate);
    }
    flushing = undefined;
  };

  const transaction = <T>(work: (tx: Executor) => Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      queue.push({ run: work, resolve: resolve as (value: unknown) => void, reject });
      flushing ??= new Promise(setImmediate).then(flush);
    });

  return {
    dialect: 'sqlite',
    read,
    single: { dialect: 'sqlite', run: (text, values) => transaction((unit) => unit.run(text, values)) },
    transaction,
    close: async () => {
      await flushing;
      reader.close();
      writer.close();
    },
  };
}

/** Migrations run in one transaction, whose first statement takes the write lock; both die with the process. */
export function migrationDialect(connection: Connection): SqliteDialect {
  class MigrationAdapter extends SqliteAdapter {
    override get supportsTransactionalDdl(): boolean {
      return true;
    }
    override async acquireMigrationLock(db: Kysely<unknown>): Promise<void> {
      await sql`UPDATE kysely_migration_lock SET is_locked = 1`.execute(db);
    }
    override async releaseMigrationLock(db: Kysely<unknown>): Promise<void> {
      await sql`UPDATE kysely_migration_lock SET is_locked = 0`.execute(db);
    }
  }
  class MigrationDialect extends SqliteDialect {
    override createAdapter(): SqliteAdapter {
      return new MigrationAdapter();
    }
  }
  return new MigrationDialect({
    database: {
      close: () => undefined,
      prepare: (text) => {
        const prepared = connection.prepare(text);
        return {
          reader: prepared.columnNames.length > 0,
          all: (parameters) => prepared.all(...(parameters as Value[])),
          run: (parameters) => prepared.run(...(parameters as Value[])),
          iterate: (parameters) => prepared.iterate(...(parameters as Value[])) as IterableIterator<unknown>,
        };
      },
    },
  });
}
