import type { Logger } from 'pino';

export type Dialect = 'sqlite' | 'postgres';
export type Value = string | number | null;

/** Runs compiled statements: on committed state, in one transaction, or each in a transaction of its own. */
export interface Executor {
  readonly dialect: Dialect;
  run<Row>(text: string, values: readonly Value[]): Promise<Row[]>;
}

/**
 * The database. Failures that are not defects (unreachable, full, too busy) throw `temporarily_unavailable`. Conflicts
 * that the database reports as retryable are retried first.
 */
export interface Database {
  readonly dialect: Dialect;
  /** Sees committed state only. */
  readonly read: Executor;
  /** Each statement is a transaction of its own, durable when the promise resolves. */
  readonly single: Executor;
  /**
   * Runs `work` in one transaction, durable when the promise resolves. An error rolls the transaction back. `work` may
   * run more than once, so it must have no side effects besides its statements.
   */
  transaction<T>(work: (tx: Executor) => Promise<T>): Promise<T>;
  /**
   * Calls `wake` after a commit that announced itself on this channel; on SQLite after every commit of this process. Commits
   * may be missed, so look from time to time as well. Ends with `close`.
   */
  listen(channel: string, wake: () => void): Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Called with the text of each statement before it runs. */
  readonly onStatement?: (text: string) => void;
  readonly log: Pick<Logger, 'warn'>;
  /** Creates no file and applies no migration. */
  readonly asIs?: boolean;
}
