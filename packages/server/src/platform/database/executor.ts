import type { Migration } from 'kysely/migration';
import type { Logger } from 'pino';
import type { Timers } from '../timers.ts';

export type Dialect = 'sqlite' | 'postgres';
export type Value = string | number | null;

/** Runs compiled statements: on committed state, in one transaction, or each in a transaction of its own. */
export interface Executor {
  readonly dialect: Dialect;
  /** Statements of one turn of the event loop go out together where they can (see `gathered`). */
  readonly gathers?: boolean;
  run<Row>(text: string, values: readonly Value[]): Promise<Row[]>;
  /**
   * Runs a statement without rows in a transaction. Resolves before the database has run it, so that it costs
   * no round trip of its own. If the statement fails, the transaction fails.
   */
  write?(text: string, values: readonly Value[]): Promise<never[]>;
}

/**
 * Refuses the statements of a transaction once its work has ended. Of statements that run side by side one may fail before the others
 * are through: what comes after those must not run in the next transaction of the connection.
 */
export const confined =
  <T>(work: (tx: Executor) => Promise<T>) =>
  async (tx: Executor): Promise<T> => {
    let hasEnded = false;
    const run: Executor['run'] = (text, values) =>
      hasEnded ? Promise.reject(new Error('the transaction has ended')) : tx.run(text, values);
    try {
      return await work({ ...tx, run });
    } finally {
      hasEnded = true;
    }
  };

/**
 * The database. Conflicts that it reports as retryable are retried first. Failures that are not defects
 * (unreachable, full, too busy) throw `temporarily_unavailable`.
 */
export interface Database {
  readonly dialect: Dialect;
  /** Sees committed state only. */
  readonly read: Executor;
  /** Each statement is a transaction of its own, durable when the promise resolves. */
  readonly single: Executor;
  /**
   * Runs `work` in one transaction, which is durable when the promise resolves. An error rolls the
   * transaction back. `work` may run more than once, so it must have no side effects besides its statements.
   */
  transaction<T>(work: (tx: Executor) => Promise<T>): Promise<T>;
  readonly notifications: Notifications;
  close(): Promise<void>;
}

/**
 * Messages between the processes that serve one database, so that work on one node that waits for a change
 * learns of it from another node. A message can be lost (a crash, a broken connection, a pooler without
 * LISTEN), so a listener must also check the database from time to time.
 */
export interface Notifications {
  /** Wakes the listeners of a channel on every node. Call it after committing what they read. Never fails. */
  publish(channel: string, payload: string): void;
  /**
   * Calls `wake` with the payload of each message, or with undefined when some may have been missed, as
   * before the connection is up. Every channel of a node shares one. Returns what ends the subscription.
   */
  listen(channel: string, wake: Wake): () => void;
}

export type Wake = (payload: string | undefined) => void;

/** A reason that the operator can act on. */
export class StoreRefusal extends Error {}

export interface DatabaseOptions {
  /** Called with the text of each statement before it runs. */
  readonly onStatement?: (text: string) => void;
  readonly log: Pick<Logger, 'warn'>;
  /** PostgreSQL without a pooler, for migrations and for listening. Default: the URL of the database. */
  readonly directUrl?: string | undefined;
  /** Keeps prepared statements on each connection to PostgreSQL. Default: true. */
  readonly prepare?: boolean;
  /** Connections to PostgreSQL, besides one that listens. */
  readonly poolSize?: number;
  /** How long PostgreSQL may take to accept a connection. Default: 2 seconds. */
  readonly connectTimeoutSeconds?: number;
  /** For the pauses between attempts. */
  readonly timers?: Timers;
  /** How long PostgreSQL may work on a statement. Default: 10 seconds. */
  readonly statementTimeoutMs?: number;
  /** Default: those of this program. */
  readonly migrations?: Readonly<Record<string, Migration>>;
  /** Creates no file and applies no migration. */
  readonly asIs?: boolean;
}
