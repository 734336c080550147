import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Database, Value } from '../database/executor.ts';
import type { Quota, RateLimitName } from './rules.ts';
import * as store from './store.ts';

/**
 * How many keys of one limit a node keeps in memory. Beyond that the oldest is forgotten, which gives its holder
 * a fresh budget; whoever can fill the memory has as many budgets as there are keys and gains nothing by it.
 */
export const maxKeysInMemory = 10_000;

/** Two windows of one key end at least this far apart (the shortest is 10 s), so an end names its window. */
const sameWindowMs = 1_000;

/** One more of something, counted. */
export interface Counted {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly leftMs: number;
  /** When the window ends that it was counted in, in milliseconds since 1970. */
  readonly endsAt: number;
}

export interface Counter {
  /** Counts one, allowed or not, in one step that nobody can come between. */
  count(key: string): Promise<Counted>;
  /** Takes back one that was counted, if its window still runs; never adds to a later one. */
  refund(key: string, endsAt: number): Promise<unknown>;
}

const counted = (result: RateLimiterRes, allowed: boolean): Counted => ({
  allowed,
  remaining: result.remainingPoints,
  leftMs: result.msBeforeNext,
  endsAt: Date.now() + result.msBeforeNext,
});

/** @throws what the limiter's store throws */
async function count(limiter: RateLimiterMemory | RateLimiterPostgres, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key);
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return refusal;
    throw refusal;
  }
}

/** Counts in this process, at most `greatestKeys` keys. */
export function memoryCounter(
  limit: RateLimitName,
  { quota, windowSeconds }: Quota,
  maxKeys: number = maxKeysInMemory,
): Counter {
  const limiter = new RateLimiterMemory({ keyPrefix: limit, points: quota, duration: windowSeconds });
  /** Oldest window first, since all windows are of one length. */
  const keys = new Set<string>();
  const bound = (key: string) => {
    keys.delete(key);
    keys.add(key);
    if (keys.size <= maxKeys) return;
    const [oldest] = keys;
    keys.delete(oldest!);
    void limiter.delete(oldest!);
  };
  return {
    count: async (key) => {
      const result = await count(limiter, key);
      if (result.isFirstInDuration) bound(key);
      return counted(result, result.consumedPoints <= quota);
    },
    refund: async (key, endsAt) => {
      const now = await limiter.get(key);
      if (!now || now.consumedPoints < 1 || now.msBeforeNext < sameWindowMs) return;
      if (Math.abs(Date.now() + now.msBeforeNext - endsAt) < sameWindowMs) await limiter.reward(key);
    },
  };
}

/** Counts in PostgreSQL, for all nodes together: one `INSERT … ON CONFLICT DO UPDATE … RETURNING` decides. */
export function sharedCounter(db: Database, limit: RateLimitName, { quota, windowSeconds }: Quota): Counter {
  const limiter = new RateLimiterPostgres({
    storeClient: {
      query: async ({ text, values }: { text: string; values: Value[] }) => {
        const rows = await db.single.run(text, values);
        return { rows, rowCount: rows.length };
      },
    },
    storeType: 'client',
    tableName: store.rateLimitTable,
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: limit,
    points: quota,
    duration: windowSeconds,
  });
  return {
    count: async (key) => {
      const result = await count(limiter, key);
      return counted(result, result.consumedPoints <= quota);
    },
    refund: (key, endsAt) =>
      store.refundPoint(db.single, {
        key: `${limit}:${key}`,
        ends_after: endsAt - sameWindowMs,
        ends_before: endsAt + sameWindowMs,
      }),
  };
}
