import { type Expression, type ExpressionBuilder, expressionBuilder, type SqlBool, sql } from 'kysely';
import type { Logger } from 'pino';
import { repeat, type Timers } from '../timers.ts';
import type { Database, Executor, Value } from './executor.ts';
import type { Tables } from './schema.ts';
import { type Slots, statement } from './statement.ts';

const sweepIntervalMs = 60_000;

/**
 * How many rows of a table are deleted at once. On SQLite, requests wait for the whole batch, and rows with
 * random keys are spread over as many pages, so it must be small.
 */
const batchSize = 50;

/** The rest after a batch, as a multiple of its duration: requests get most of the time on every machine. */
const restFactor = 4;
const maxRestMs = 1_000;

/** Deletes at most `limit` rows that are no longer needed at `now`. Returns one row for each. */
export type Sweep = (on: Executor, now: number, limit: number) => Promise<unknown[]>;

/**
 * A statement that deletes at most `limit` rows of a table that satisfy a condition, and returns their keys.
 * On PostgreSQL it skips rows that another transaction has locked, so it waits for no request and no other
 * node, and it checks the condition again on the newest version of each row that it locks.
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

/** A sweep that deletes rows some time after they ended. Each cutoff is that long before the sweep. */
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

interface Sweeping {
  readonly db: Database;
  readonly clock: () => number;
  readonly timers: Timers;
}

/** Each sweep by a name for the log. */
export type Sweeps = Readonly<Record<string, Sweep>>;

/**
 * Deletes rows that are no longer needed, a batch of each table in turn, and rests after each full batch so
 * that requests are not delayed. A table whose sweep fails is skipped until the next time. An abort takes
 * effect after the current batch. Returns the number of deleted rows and the names of failed sweeps.
 */
export async function sweepOnce({ db, clock, timers }: Sweeping, sweeps: Sweeps, signal?: AbortSignal) {
  const now = clock();
  const failed: string[] = [];
  let deleted = 0;
  for (let unfinished = Object.entries(sweeps); unfinished.length > 0; ) {
    const next: typeof unfinished = [];
    for (const [name, sweep] of unfinished) {
      if (signal?.aborted) return { deleted, failed };
      const startedAt = timers.monotonic();
      let rows: unknown[] = [];
      try {
        rows = await sweep(db.single, now, batchSize);
      } catch {
        failed.push(name);
      }
      deleted += rows.length;
      if (rows.length < batchSize) continue;
      next.push([name, sweep]);
      await timers.sleep(Math.min((timers.monotonic() - startedAt) * restFactor, maxRestMs), signal);
    }
    unfinished = next;
  }
  return { deleted, failed };
}

/** Sweeps every minute until aborted. Every node does: it skips rows that another one is deleting. */
export const keepSweeping = (ctx: Sweeping & { readonly log: Logger }, sweeps: Sweeps, signal: AbortSignal) =>
  repeat(ctx.timers, sweepIntervalMs, signal, async () => {
    const { deleted, failed } = await sweepOnce(ctx, sweeps, signal);
    if (deleted > 0) ctx.log.info({ deleted }, 'swept');
    if (failed.length > 0) ctx.log.warn({ failed }, 'the sweep failed');
  });
