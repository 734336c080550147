import { Database as Connection, SQLiteError, type Statement } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { AuthError, temporarilyUnavailable } from '../errors.ts';
import { keepTrace } from '../telemetry/log.ts';
import {
  confined,
  type Database,
  type DatabaseOptions,
  type Executor,
  type Notifications,
  StoreRefusal,
  type Value,
  type Wake,
} from './executor.ts';
import { type Migrations, migrate } from './migrate.ts';

/** How long a start or a command waits for another process that writes to the same file. */
export const startBusyTimeoutMs = 10_000;

/**
 * How long a statement blocks the event loop while another process writes. After that, the writer waits in
 * pauses that leave the event loop free, but not as long as a start: a client waits for its response.
 */
const busyTimeoutMs = 20;
const busyPauseMs = 10;
const busyDeadlineMs = 5_000;

/**
 * The page cache of each of the two connections. The operating system caches the rest; with three times as
 * much, a look-up is a sixth faster. The file is not memory-mapped: its pages would count as memory of this
 * process, and one unreadable page would kill it.
 */
const cacheKiB = 8 * 1024;

/**
 * After how many changed pages a commit copies them into the file, while requests wait. With SQLite's default
 * of 1,000 the p99 of refreshes at full load was twice as long, and the disk does nearly the same work.
 */
const checkpointPages = 200;

/** How many units of work share one commit. Bounds how long the first of them waits. */
const maxBatch = 256;

/** The path of the file that a database URL names; undefined with PostgreSQL. */
export const sqlitePathOf = (url: string): string | undefined =>
  url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined;

/**
 * Opens a SQLite file with one writing and one reading connection. Work that arrives in the same turn of the
 * event loop shares one commit (see `GroupCommit`). The reader sees committed state only.
 */
export async function openSqlite(path: string, options: DatabaseOptions): Promise<Database> {
  const { writer, reader } = await openConnections(path, options);
  const read = executorOn(reader, options.onStatement);
  const notifications = new LocalNotifications();
  const writes = new GroupCommit(writer, executorOn(writer, options.onStatement), options.log, () =>
    notifications.publish(commitsChannel, ''),
  );
  return {
    dialect: 'sqlite',
    read,
    single: { dialect: 'sqlite', run: (text, values) => writes.addStatement(text, values) },
    transaction: (work) => writes.add(work),
    notifications,
    close: async () => {
      await writes.finish();
      reader.close();
      writer.close();
    },
  };
}

async function openConnections(path: string, { asIs, migrations }: DatabaseOptions) {
  if (!asIs) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const open = () => connect(path, { create: false });
  const writer = await whenFree(asIs ? open : () => openMigrated(path, migrations), startBusyTimeoutMs);
  const reader = await whenFree(open, startBusyTimeoutMs);
  reader.run('PRAGMA query_only = ON');
  for (const connection of [writer, reader]) connection.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  return { writer, reader };
}

/** May fail with SQLITE_BUSY: switching to WAL and recovering it ignore the busy timeout. */
export function connect(path: string, { create }: { create: boolean }): Connection {
  const connection = new Connection(path, { readwrite: true, create, strict: true });
  connection.run(`PRAGMA busy_timeout = ${startBusyTimeoutMs}`);
  if (create) requireOwnTables(connection, path);
  connection.run('PRAGMA journal_mode = WAL');
  connection.run('PRAGMA synchronous = FULL');
  connection.run('PRAGMA foreign_keys = ON');
  connection.run(`PRAGMA cache_size = -${cacheKiB}`);
  connection.run(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  return connection;
}

/** @throws {StoreRefusal} for a file with the tables of another program, which stays as it is */
function requireOwnTables(connection: Connection, path: string): void {
  const tables =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'";
  const names = connection.query(tables).values().flat();
  if (names.length === 0 || names.includes('kysely_migration')) return;
  connection.close();
  throw new StoreRefusal(`the file ${path} is not empty, and not a database of Latchkey`);
}

/** Leaves no connection open when a step fails, so that `whenFree` can start over with the cause. */
async function openMigrated(path: string, migrations: Migrations | undefined): Promise<Connection> {
  const connection = connect(path, { create: true });
  try {
    connection.run('BEGIN IMMEDIATE');
    await migrate(executorOn(connection, undefined), migrations);
    connection.run('COMMIT');
    return connection;
  } catch (error) {
    // Statements that are still prepared would keep a closed connection, and its lock, alive.
    if (connection.inTransaction) connection.run('ROLLBACK');
    connection.close();
    throw error instanceof AuthError ? error.cause : error;
  }
}

/** Retries `work` until the deadline while another process keeps the file busy, without blocking. */
export async function whenFree<T>(work: () => T | Promise<T>, deadlineMs = busyDeadlineMs): Promise<T> {
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

/** Constraint violations and SQL errors are defects of this program. All others come from the machine. */
export const asStoreError = (error: unknown): unknown =>
  error instanceof SQLiteError &&
  !error.code?.startsWith('SQLITE_CONSTRAINT') &&
  error.code !== 'SQLITE_ERROR'
    ? temporarilyUnavailable(error)
    : error;

export function executorOn(connection: Connection, onStatement: DatabaseOptions['onStatement']): Executor {
  // The service has a fixed set of statements, so each of them stays prepared.
  const prepared = new Map<string, Statement>();
  const prepare = (text: string): Statement => {
    const statement = prepared.get(text) ?? connection.prepare(text);
    prepared.set(text, statement);
    return statement;
  };
  return {
    dialect: 'sqlite',
    run: async <Row>(text: string, values: readonly Value[]) => {
      onStatement?.(text);
      try {
        return prepare(text).all(...(values as Value[])) as Row[];
      } catch (error) {
        throw asStoreError(error);
      }
    },
  };
}

/** A transaction that waits for its turn, and the promise of its caller. */
interface Unit {
  /** A single statement, which SQLite undoes by itself when it fails. */
  readonly isStatement: boolean;
  run(tx: Executor): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

const nextTurn = (): Promise<void> => new Promise(setImmediate);

/**
 * Runs transactions one after the other and commits those that wait together with a single fsync. Each of
 * several statements runs in its own savepoint, so one that fails does not affect the others. Callers get
 * their result after the commit.
 */
class GroupCommit {
  readonly #writer: Connection;
  readonly #tx: Executor;
  readonly #log: DatabaseOptions['log'];
  #queue: Unit[] = [];
  #flushing: Promise<void> | undefined;
  readonly #onCommit: () => void;

  constructor(writer: Connection, tx: Executor, log: DatabaseOptions['log'], onCommit: () => void) {
    this.#writer = writer;
    this.#tx = tx;
    this.#log = log;
    this.#onCommit = onCommit;
  }

  add<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    return this.#enqueue(confined(keepTrace(work)), false);
  }

  addStatement<Row>(text: string, values: readonly Value[]): Promise<Row[]> {
    return this.#enqueue((tx) => tx.run<Row>(text, values), true);
  }

  #enqueue<T>(run: (tx: Executor) => Promise<T>, isStatement: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ isStatement, run, resolve: resolve as (value: unknown) => void, reject });
      this.#flushing ??= nextTurn().then(() => this.#flush());
    });
  }

  /** Resolves when no transaction is left to commit. */
  async finish(): Promise<void> {
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, maxBatch);
      this.#queue = this.#queue.slice(maxBatch);
      await this.#commitTogether(batch);
      // Requests that arrived during the commit join the next one.
      await nextTurn();
    }
    this.#flushing = undefined;
  }

  async #commitTogether(batch: readonly Unit[]): Promise<void> {
    const settle: (() => void)[] = [];
    try {
      // Still open only if the disk failed even the rollback of the previous batch.
      if (this.#writer.inTransaction) this.#run('ROLLBACK');
      await whenFree(() => this.#run('BEGIN IMMEDIATE'));
      for (const unit of batch) settle.push(await this.#runUnit(unit));
      this.#run('COMMIT');
    } catch (error) {
      for (const unit of batch) unit.reject(asStoreError(error));
      this.#rollbackIfPossible();
      return;
    }
    for (const settleUnit of settle) settleUnit();
    this.#onCommit();
  }

  /** Runs a unit, without effect if it fails. Returns what settles the caller's promise after the commit. */
  async #runUnit(unit: Unit): Promise<() => void> {
    if (!unit.isStatement) this.#run('SAVEPOINT unit');
    try {
      const value = await unit.run(this.#tx);
      if (!unit.isStatement) this.#run('RELEASE unit');
      return () => unit.resolve(value);
    } catch (error) {
      if (!this.#writer.inTransaction) throw error;
      if (!unit.isStatement) {
        this.#run('ROLLBACK TO unit');
        this.#run('RELEASE unit');
      }
      return () => unit.reject(error);
    }
  }

  /** The connection keeps these few commands prepared. */
  #run(command: string): void {
    this.#writer.query(command).run();
  }

  #rollbackIfPossible(): void {
    try {
      if (this.#writer.inTransaction) this.#run('ROLLBACK');
    } catch {
      this.#log.warn('could not roll back a failed batch yet');
    }
  }
}

/** On SQLite this channel gets a message after every commit of this process. */
export const commitsChannel = 'commits';

/**
 * The listeners of this process. On SQLite that is the service. An operator's command is a process of its
 * own: the service finds its commits the next time it checks the database.
 */
export class LocalNotifications implements Notifications {
  readonly #listeners = new Map<string, Set<Wake>>();

  /** The channels that have ever had a listener. */
  get channels(): Iterable<string> {
    return this.#listeners.keys();
  }

  publish(channel: string, payload: string | undefined): void {
    for (const wake of [...(this.#listeners.get(channel) ?? [])]) wake(payload);
  }

  listen(channel: string, wake: Wake): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(wake));
    return () => void listeners.delete(wake);
  }
}
