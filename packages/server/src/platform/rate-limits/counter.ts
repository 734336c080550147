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

/** Counts in the memory of this process, for at most `maxKeys` keys. */
export function memoryCounter(
  clock: () => number,
  { quota, windowSeconds }: Quota,
  maxKeys: number = maxKeysInMemory,
): Counter {
  /** Oldest window first, because all windows have the same length. */
  const windows = new Map<string, { points: number; readonly endsAt: number }>();
  const start = (key: string, now: number) => {
    const window = { points: 0, endsAt: now + windowSeconds * 1000 };
    windows.delete(key);
    windows.set(key, window);
    const [oldest] = windows.keys();
    if (windows.size > maxKeys) windows.delete(oldest!);
    return window;
  };
  const running = (key: string, now: number) => {
    const window = windows.get(key);
    return window && window.endsAt > now ? window : undefined;
  };
  return {
    count: async (key) => {
      const now = clock();
      const window = running(key, now) ?? start(key, now);
      window.points += 1;
      return {
        allowed: window.points <= quota,
        remaining: Math.max(quota - window.points, 0),
        leftMs: window.endsAt - now,
        endsAt: window.endsAt,
      };
    },
    refund: async (key, endsAt) => {
      const window = running(key, clock());
      if (window?.endsAt === endsAt && window.points > 0) window.points -= 1;
    },
  };
}

/** Counts in PostgreSQL for all nodes together, by the clock that they share. */
export function sharedCounter(
  { db, clock }: { readonly db: Database; readonly clock: () => number },
  limit: RateLimitName,
  { quota, windowSeconds }: Quota,
): Counter {
  const windowMs = windowSeconds * 1000;
  return {
    count: async (key) => {
      const now = clock();
      const [window] = await store.countPoint(db.single, {
        key: `${limit}:${key}`,
        now,
        ends_at: now + windowMs,
      });
      const { points, expire } = window!;
      return {
        allowed: points <= quota,
        remaining: Math.max(quota - points, 0),
        // The clock of the node that started the window may be ahead by milliseconds.
        leftMs: Math.min(Math.max(expire - now, 0), windowMs),
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
