import type { Logger } from 'pino';

export type Dialect = 'sqlite' | 'postgres';
export type Value = string | number | null;

/** Runs compiled statements: committed state, one transaction, or each statement for itself. */
export interface Executor {
  readonly dialect: Dialect;
  run<Row>(text: string, values: readonly Value[]): Promise<Row[]>;
}

/**
 * The store. Every failure that is not a defect (out of reach, full, too busy) is `temporarily_unavailable`;
 * conflicts that a database reports as retryable are retried and never reach the caller.
 */
export interface Database {
  readonly dialect: Dialect;
  /** Sees committed state only. */
  readonly read: Executor;
  /** Each statement is a transaction of its own, durable when it answers. */
  readonly single: Executor;
  /**
   * Runs `work` in one transaction, durable when it answers; what it throws rolls everything back. `work` may
   * run more than once, so it holds statements and pure code only.
   */
  transaction<T>(work: (tx: Executor) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Told of each statement's text before it runs. */
  readonly onStatement?: (text: string) => void;
  readonly log: Pick<Logger, 'warn'>;
  /** Takes the store as it is: makes no file and applies no migration. */
  readonly asIs?: boolean;
}
