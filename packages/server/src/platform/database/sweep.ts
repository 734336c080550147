import { type Expression, type ExpressionBuilder, expressionBuilder, type SqlBool, sql } from 'kysely';
import type { Logger } from 'pino';
import type { Database, Executor, Value } from './executor.ts';
import type { Tables } from './schema.ts';
import { type Slots, statement } from './statement.ts';

const sweepIntervalMs = 60_000;
const batchSize = 500;

/** How many batches of one table a sweep deletes at most. The next sweep deletes the rest. */
const maxBatches = 200;

/** Deletes at most `limit` rows that are no longer needed at `now`. Returns one row for each. */
export type Sweep = (on: Executor, now: number, limit: number) => Promise<unknown[]>;

/**
 * A statement that deletes at most `limit` rows of a table that satisfy a condition, and returns their keys. On PostgreSQL
 * it skips rows that another transaction has locked, so it waits for no request and no other node, and it checks the
 * condition again on the newest version of each row that it locks.
 *
 * @example const sweepLinks = sweepStatement()('magic_links', 'id', (e, p) => e('expires_at', '<', p.before));
 */
export const sweepStatement =
  <P extends Record<string, Value> = { before: number }>() =>
  <Table extends keyof Tables>(
    table: Table,
    key: keyof Tables[Table] & string,
    condition: (e: ExpressionBuilder<Tables, Table>, p: Slots<P>) => Expression<SqlBool>,
  ) =>
    statement<P & { limit: number }>()((db, p, dialect) => {
      const ended = condition(expressionBuilder<Tables, Table>(), p);
      const lock = dialect === 'postgres' ? sql`for update skip locked` : sql``;
      const batch = sql`select ${sql.ref(key)} from ${sql.table(table)} where ${ended} limit ${p.limit} ${lock}`;
      const sweep = sql`delete from ${sql.table(table)} where ${sql.ref(key)} in (${batch}) returning ${sql.ref(key)}`;
      return { compile: () => sweep.compile(db) };
    });

/**
 * A sweep that deletes rows some time after they ended: each cutoff of its statement lies that many milliseconds before
 * the sweep.
 */
export const sweepAfter =
  <Cutoff extends string>(
    retentionMs: Readonly<Record<Cutoff, number>>,
    deleteBatch: (on: Executor, p: Record<Cutoff | 'limit', number>) => Promise<unknown[]>,
  ): Sweep =>
  (on, now, limit) => {
    const cutoffs = { limit } as Record<Cutoff | 'limit', number>;
    for (const name in retentionMs) cutoffs[name] = now - retentionMs[name];
    return deleteBatch(on, cutoffs);
  };

/** Deletes rows that are no longer needed, in batches small enough not to delay requests. Returns how many. */
export async function sweepOnce(db: Database, sweeps: readonly Sweep[], now: number): Promise<number> {
  let deleted = 0;
  for (const sweep of sweeps) {
    for (let batch = 0; batch < maxBatches; batch++) {
      const rows = await sweep(db.single, now, batchSize);
      deleted += rows.length;
      if (rows.length < batchSize) break;
    }
  }
  return deleted;
}

/** Sweeps every minute. Every node does: it skips rows that another node is deleting. */
export function startSweeper(
  db: Database,
  sweeps: readonly Sweep[],
  clock: () => number,
  log: Logger,
): { stop(): Promise<void> } {
  let running: Promise<unknown> = Promise.resolve();
  const sweep = () => {
    running = running
      .then(() => sweepOnce(db, sweeps, clock()))
      .then((deleted) => deleted > 0 && log.info({ deleted }, 'swept'))
      .catch(() => log.warn('the sweep failed'));
  };
  const timer = setInterval(sweep, sweepIntervalMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
