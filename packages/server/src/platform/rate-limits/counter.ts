import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Database } from '../database/executor.ts';
import type { Quota, RateLimitName } from './rules.ts';
import * as store from './store.ts';

/**
 * How many keys of one limit a node keeps in memory. Beyond that the oldest key is dropped and starts a new window. An
 * attacker gains nothing from this: filling the memory takes more keys, and each of them has a quota of its own.
 */
export const maxKeysInMemory = 10_000;

/** Windows of one key end further apart than this (the shortest lasts 10 s), so the end identifies the window. */
const sameWindowMs = 1_000;

/** The state of a window after counting. */
export interface Counted {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly leftMs: number;
  /** When that window ends, in milliseconds since 1970. */
  readonly endsAt: number;
}

export interface Counter {
  /** Adds one, atomically, whether it is allowed or not. */
  count(key: string): Promise<Counted>;
  /** Subtracts one from the window that ends at this time, if it is still running. */
  refund(key: string, endsAt: number): Promise<unknown>;
}

/** @throws whatever the store of the limiter throws */
async function count(limiter: RateLimiterMemory, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key);
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return refusal;
    throw refusal;
  }
}

/** Counts in the memory of this process, for at most `maxKeys` keys. */
export function memoryCounter(
  limit: RateLimitName,
  { quota, windowSeconds }: Quota,
  maxKeys: number = maxKeysInMemory,
): Counter {
  const limiter = new RateLimiterMemory({ keyPrefix: limit, points: quota, duration: windowSeconds });
  /** Oldest window first, because all windows have the same length. */
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
      return {
        allowed: result.consumedPoints <= quota,
        remaining: result.remainingPoints,
        leftMs: result.msBeforeNext,
        endsAt: Date.now() + result.msBeforeNext,
      };
    },
    refund: async (key, endsAt) => {
      const window = await limiter.get(key);
      if (!window || window.consumedPoints < 1 || window.msBeforeNext < sameWindowMs) return;
      if (Math.abs(Date.now() + window.msBeforeNext - endsAt) < sameWindowMs) await limiter.reward(key);
    },
  };
}

/** Counts in PostgreSQL for all nodes together, by the clock that they share. */
export function sharedCounter(
  { db, clock }: { readonly db: Database; readonly clock: () => number },
  limit: RateLimitName,
  { quota, windowSeconds }: Quota,
): Counter {
  return {
    count: async (key) => {
      const now = clock();
      const [window] = await store.countPoint(db.single, {
        key: `${limit}:${key}`,
        now,
        ends_at: now + windowSeconds * 1000,
      });
      const { points, expire } = window!;
      return {
        allowed: points <= quota,
        remaining: Math.max(quota - points, 0),
        leftMs: Math.max(expire - now, 0),
        endsAt: expire,
      };
    },
    refund: (key, endsAt) =>
      store.refundPoint(db.single, {
        key: `${limit}:${key}`,
        ends_after: endsAt - sameWindowMs,
        ends_before: endsAt + sameWindowMs,
      }),
  };
}
