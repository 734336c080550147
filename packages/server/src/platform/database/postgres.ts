import postgres from 'postgres';
import { temporarilyUnavailable } from '../errors.ts';
import { keepTrace } from '../telemetry/log.ts';
import { codeOf } from '../telemetry/redact.ts';
import { systemTimers, type Timers } from '../timers.ts';
import { confined, type Database, type DatabaseOptions, type Executor, type Value } from './executor.ts';
import { gathered } from './gather.ts';
import { migrate } from './migrate.ts';
import { PostgresNotifications } from './postgres-notifications.ts';
import { findPrimary, int8AsNumber, onlyPrimary, PrimaryPool, withConnection } from './postgres-primary.ts';

/** More than a process with one thread keeps busy. */
export const defaultPoolSize = 16;
const defaultConnectTimeoutSeconds = 2;
const defaultStatementTimeoutMs = 10_000;
const connectionLifeSeconds = 30 * 60;
const reconnectPauseSeconds = 0.05;

/** How long after its own timeout the server counts as unreachable. */
const responseGraceMs = 2_000;

/** Serialization failure and deadlock: the transaction was rolled back and can run again. */
const conflicts = new Set(['40001', '40P01']);

/** Unique violation: another transaction was first. A second run sees its row and refuses properly. */
const retryable = new Set([...conflicts, '23505']);
const maxAttempts = 8;

/**
 * No attempt starts later than this after the first one. PostgreSQL takes a second to detect a deadlock
 * (`deadlock_timeout`, which only a superuser can change), so the number of attempts alone does not bound a request.
 */
export const maxRetryMs = 2_000;
const retryPauseMs = 20;

/**
 * Class 08: connection, 28: authorization, 53: resources, 57: operator intervention. 25006: standby, 3D000 and 55000: the
 * database is missing or accepts no connections, 55P03: lock not available, 58030: I/O error.
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const isUnavailable = (code: string): boolean =>
  /^(08|28|53|57)/.test(code) ||
  ['25006', '3D000', '55000', '55P03', '58030'].includes(code) ||
  /^(CONNECTION_|CONNECT_|ECONN|EPIPE|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT|EAI_AGAIN)/.test(code);

/** Whether PostgreSQL cannot be reached or does not accept connections yet. A refused password or a missing database stays so. */
export const isOutOfReach = (error: unknown): boolean =>
  isUnavailable(codeOf(error)) && !/^(28|3D000)/.test(codeOf(error));

/** Whether an error is the end of its connection. */
const isConnectionLost = (error: unknown): boolean =>
  error instanceof postgres.PostgresError
    ? error.severity === 'FATAL' || error.severity === 'PANIC'
    : /^(CONNECTION_|ECONN|EPIPE)/.test(codeOf(error));

/**
 * A statement was prepared before a node of the next release added a column to its table. The driver then prepares it anew, but
 * within a transaction PostgreSQL runs nothing more.
 */
const isOutdated = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.routine === 'RevalidateCachedQuery';

export const asStoreError = (error: unknown): unknown => {
  const code = codeOf(error);
  return isUnavailable(code) || conflicts.has(code) ? temporarilyUnavailable(error) : error;
};

/** Rejects when the server does not respond in time. */
async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(Object.assign(new Error('PostgreSQL does not respond'), { code: 'ETIMEDOUT' })),
    timeoutMs,
  );
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Retries an attempt that ends in a conflict. When the time is up, a conflict is `temporarily_unavailable`. A unique
 * violation in the last attempt is a defect and is thrown unchanged. Each connection may have outdated statements, so only the
 * time limits attempts that end with one.
 */
async function withRetries<T>(
  { pool, timeoutMs, timers }: { pool: PrimaryPool; timeoutMs: number; timers: Timers },
  attempt: (sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  const startedAt = timers.monotonic();
  for (let attempts = 1; ; attempts++) {
    const { sql } = pool;
    try {
      return await withTimeout(attempt(sql), timeoutMs);
    } catch (error) {
      if (isUnavailable(codeOf(error))) pool.failed(sql, codeOf(error));
      if (codeOf(error) === 'CONNECTION_CLOSED') pool.closed(sql);
      const isRetryable = isOutdated(error) || (retryable.has(codeOf(error)) && attempts < maxAttempts);
      if (!isRetryable) throw asStoreError(error);
      const pauseMs = isOutdated(error) ? 0 : Math.random() * retryPauseMs * attempts;
      if (timers.monotonic() - startedAt + pauseMs > maxRetryMs) throw temporarilyUnavailable(error);
      await timers.sleep(pauseMs);
    }
  }
}

/** Statements on a connection or in a transaction. @param prepare whether it keeps them prepared */
export const executorOn = (
  on: postgres.Sql | postgres.TransactionSql,
  prepare: boolean,
  onStatement?: DatabaseOptions['onStatement'],
): Executor => ({
  dialect: 'postgres',
  run: async <Row>(text: string, values: readonly Value[]) => {
    onStatement?.(text);
    // The types lack `simple`, without which a statement that has no values is never prepared.
    const options = { prepare, simple: false } satisfies postgres.UnsafeQueryOptions & { simple: boolean };
    const rows = await on.unsafe(text, values as Value[], options);
    return [...rows] as unknown as Row[];
  },
});

/**
 * Runs a transaction. Once its connection is lost, nothing more is sent, not even the rollback: the driver would write it to a socket
 * that is gone, and never connect again in its place (`database.test.ts`). The driver itself then rejects the transaction.
 *
 * Rejects with what failed first. The driver may learn of the statements behind it before: one that is outdated it sends again.
 */
export function beginOn<T>(
  sql: postgres.Sql,
  executor: (on: postgres.TransactionSql) => Executor,
  work: (tx: Executor) => Promise<T>,
) {
  let lost: unknown;
  let first: unknown;
  const note = (error: unknown): never => {
    if (isConnectionLost(error)) lost = error;
    if (codeOf(error) !== behindFailure) first ??= error;
    throw error;
  };
  const begun = sql.begin((tx) => {
    const { run } = executor(tx);
    const runUnlessLost: Executor['run'] = (text, values) =>
      lost === undefined ? run<never>(text, values).catch(note) : Promise.reject(lost);
    return confined(work)({ dialect: 'postgres', run: runUnlessLost }).catch((error) =>
      lost === undefined ? Promise.reject(error) : new Promise<never>(() => {}),
    );
  });
  return begun.catch((error) => {
    if (isConnectionLost(error)) lost = error;
    throw codeOf(error) === behindFailure ? (first ?? error) : error;
  });
}

/** Messages of one turn share a commit. */
const notify = gathered<readonly [channel: string, payload: string], unknown>(
  (on, message) => on.run('SELECT pg_notify($1, $2)', message),
  async (on, messages) => {
    const all =
      'SELECT pg_notify(m->>0, m->>1) FROM json_array_elements(cast(cast($1 AS text) AS json)) AS m';
    await on.run(all, [JSON.stringify(messages)]);
    return messages.map(() => []);
  },
);

/** For a connection whose work may take long: the role may have timeouts of its own. */
export const withoutTimeouts = {
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
} as const;

/** SQLSTATE of a statement behind one that failed in its transaction. */
const behindFailure = '25P02';

/** Requests queue behind a migration that waits for their table. Behind a long reader, such as `pg_dump`, it gives up and tries again. */
const migrationLockTimeoutMs = 1_000;
const lockNotAvailable = '55P03';

/** Another program created the tables of migrations first, or what happened before could not be looked at. */
const migratedMeanwhile = new Set([...retryable, '42P07', behindFailure]);

/**
 * Uses a connection without the pool's timeouts, because a migration may take long. It locks whole tables, so while nodes of the
 * release before serve requests it can end in a deadlock or wait too long for a lock, and then runs again.
 */
async function migrateOnce(
  url: string,
  { prepare = true, migrations, log, timers = systemTimers }: DatabaseOptions,
): Promise<void> {
  const connection = { ...withoutTimeouts, lock_timeout: migrationLockTimeoutMs };
  await withConnection(url, { ...onlyPrimary, prepare, connection }, async (sql) => {
    for (let attempts = 1; ; ) {
      try {
        return await sql.begin((tx) => migrate(executorOn(tx, prepare), migrations));
      } catch (error) {
        if (codeOf(error) === lockNotAvailable) {
          log.warn('the migration waits for locks of other connections');
          await timers.sleep(Math.random() * 2 * migrationLockTimeoutMs);
        } else if (!migratedMeanwhile.has(codeOf(error)) || attempts++ === maxAttempts) throw error;
      }
    }
  });
}

/** Opens PostgreSQL 14 or later through a connection pool. Transactions are READ COMMITTED. */
export async function openPostgres(url: string, options: DatabaseOptions): Promise<Database> {
  const { directUrl = url, prepare = true, statementTimeoutMs = defaultStatementTimeoutMs } = options;
  const timeoutMs = statementTimeoutMs + responseGraceMs;
  const connect = (server: string) =>
    postgres(server, {
      ...onlyPrimary,
      prepare,
      max: options.poolSize ?? defaultPoolSize,
      connect_timeout: options.connectTimeoutSeconds ?? defaultConnectTimeoutSeconds,
      max_lifetime: connectionLifeSeconds,
      backoff: () => reconnectPauseSeconds,
      onnotice: () => undefined,
      connection: {
        application_name: 'latchkey',
        statement_timeout: statementTimeoutMs,
        lock_timeout: statementTimeoutMs / 2,
        idle_in_transaction_session_timeout: statementTimeoutMs,
      },
      types: { int8: int8AsNumber },
    });
  if (!options.asIs) await migrateOnce(directUrl, options);
  const pool = new PrimaryPool(url, await findPrimary(url), connect, () => notifications.reconnect());

  const retried = { pool, timeoutMs, timers: options.timers ?? systemTimers };

  const executor = (on: postgres.Sql | postgres.TransactionSql) =>
    executorOn(on, prepare, options.onStatement);
  const single: Executor = {
    dialect: 'postgres',
    gathers: true,
    run: <Row>(text: string, values: readonly Value[]) =>
      withRetries(retried, (sql) => executor(sql).run<Row>(text, values)),
  };

  const notifications = new PostgresNotifications(directUrl, options.log, (channel, payload) =>
    notify(single, [channel, payload]),
  );

  return {
    dialect: 'postgres',
    read: single,
    single,
    transaction: <T>(work: (tx: Executor) => Promise<T>) => {
      const traced = keepTrace(work);
      return withRetries(retried, async (sql) => {
        const writes: Promise<unknown>[] = [];
        const result = await beginOn(sql, executor, (tx) => {
          const { run } = tx;
          const write = async (text: string, values: readonly Value[]): Promise<never[]> => {
            const written = run(text, values);
            written.catch(() => undefined);
            writes.push(written);
            return [];
          };
          return traced({ dialect: 'postgres', run, write });
        });
        // If one fails, PostgreSQL answers the commit behind it with a rollback.
        await Promise.all(writes);
        return result as T;
      });
    },
    notifications,
    close: async () => {
      await notifications.close();
      await pool.close();
    },
  };
}
