import { Kysely } from 'kysely';
import { PostgresJSDialect } from 'kysely-postgres-js';
import postgres from 'postgres';
import { temporarilyUnavailable } from '../errors.ts';
import type { Database, DatabaseOptions, Executor, Value } from './executor.ts';
import { migrate } from './migrate.ts';

const poolSize = 16;
const connectTimeoutSeconds = 2;
const statementTimeoutMs = 10_000;
const lockTimeoutMs = 5_000;
const idleInTransactionTimeoutMs = 10_000;
const connectionLifeSeconds = 30 * 60;
const closeTimeoutSeconds = 1;
const reconnectPauseSeconds = 0.05;

/** A server that says nothing at all is out of reach, too. Longer than what the server itself allows. */
const silenceTimeoutMs = 12_000;
const int8Type = 20;

/** Serialization failure and deadlock: the transaction left nothing behind and may simply run again. */
const conflicts = new Set(['40001', '40P01']);

/**
 * Unique violation: another transaction was first, where no statement could have seen it. Run again, the
 * statements that come before do see it, and refuse in their own words.
 */
const retryable = new Set([...conflicts, '23505']);
const maxTries = 8;

/**
 * No try begins later than this after the first one began. PostgreSQL takes a second to notice a deadlock
 * (`deadlock_timeout`, which only a superuser can change), so the number of tries alone bounds no request's time.
 */
export const maxRetryMs = 2_000;
const retryPauseMs = 20;

/**
 * Class 08 connection, 28 login refused, 53 resources, 57 operator intervention; 25006 a standby, 3D000 and 55000
 * the database is gone or closed, 55P03 lock not available.
 */
const isUnavailable = (code: string): boolean =>
  /^(08|28|53|57)/.test(code) ||
  ['25006', '3D000', '55000', '55P03', '58030'].includes(code) ||
  /^(CONNECTION_|CONNECT_|ECONN|EPIPE|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT|EAI_AGAIN)/.test(code);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

const asStoreError = (error: unknown): unknown => {
  const code = codeOf(error);
  return isUnavailable(code) || conflicts.has(code) ? temporarilyUnavailable(error) : error;
};

/** Gives up waiting for a server that does not answer. */
async function answered<T>(work: Promise<T>): Promise<T> {
  let timer: Timer | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(temporarilyUnavailable(new Error('no answer from PostgreSQL'))),
      silenceTimeoutMs,
    );
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs an attempt again while it meets conflicts. A conflict that outlasts the time is `temporarily_unavailable`;
 * a unique violation that outlasts all tries is a defect and is thrown as it is.
 */
async function retrying<T>(attempt: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      return await answered(attempt());
    } catch (error) {
      if (!retryable.has(codeOf(error)) || tries === maxTries) throw asStoreError(error);
      const pauseMs = Math.random() * retryPauseMs * tries;
      if (performance.now() - startedAt + pauseMs > maxRetryMs) throw temporarilyUnavailable(error);
      await Bun.sleep(pauseMs);
    }
  }
}

/** Over a connection of its own, which has none of the pool's time limits. */
async function migrateOnce(url: string): Promise<void> {
  const setup = postgres(url, { max: 1, connect_timeout: connectTimeoutSeconds, onnotice: () => undefined });
  const kysely = new Kysely<unknown>({ dialect: new PostgresJSDialect({ postgres: setup }) });
  await migrate(kysely).finally(() => setup.end());
}

/** PostgreSQL 14 or later through a pool. READ COMMITTED; what must be decided once is one conditional statement. */
export async function openPostgres(url: string, options: DatabaseOptions): Promise<Database> {
  const pool = postgres(url, {
    max: poolSize,
    connect_timeout: connectTimeoutSeconds,
    max_lifetime: connectionLifeSeconds,
    backoff: () => reconnectPauseSeconds,
    onnotice: () => undefined,
    connection: {
      application_name: 'latchkey',
      statement_timeout: statementTimeoutMs,
      lock_timeout: lockTimeoutMs,
      idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    },
    types: {
      int8: { to: int8Type, from: [int8Type], serialize: String, parse: Number },
    },
  });

  try {
    if (!options.asIs) await migrateOnce(url);
  } catch (error) {
    await pool.end({ timeout: 0 });
    throw error;
  }

  const executor = (on: postgres.Sql | postgres.TransactionSql): Executor => ({
    dialect: 'postgres',
    run: async <Row>(text: string, values: readonly Value[]) => {
      options.onStatement?.(text);
      const rows = await on.unsafe(text, values as Value[], { prepare: true });
      return [...rows] as unknown as Row[];
    },
  });
  const direct = executor(pool);
  const single: Executor = {
    dialect: 'postgres',
    run: <Row>(text: string, values: readonly Value[]) => retrying(() => direct.run<Row>(text, values)),
  };

  return {
    dialect: 'postgres',
    read: single,
    single,
    transaction: <T>(work: (tx: Executor) => Promise<T>) =>
      retrying(async () => (await pool.begin((tx) => work(executor(tx)))) as T),
    close: () => pool.end({ timeout: closeTimeoutSeconds }),
  };
}
