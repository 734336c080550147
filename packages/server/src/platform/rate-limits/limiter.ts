import { sha256 } from '../crypto/hash.ts';
import type { Database } from '../database/executor.ts';
import { AuthError, temporarilyUnavailable } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ClientInfo } from '../values/client-address.ts';
import { addressKey } from '../values/client-address.ts';
import type { Quota, RateLimitName, RateLimitRules } from './rules.ts';
import * as store from './store.ts';

/** A limit that a request counts against, and what it is counted by, such as an address or an account. */
export interface RateLimitSubject {
  readonly limit: RateLimitName;
  /** Hashed before it is stored, so that no address is kept. */
  readonly subject: string;
  /** Report this limit in successful responses. Only for subjects that no other person counts against. */
  readonly isReported?: boolean;
  /** The limit to name in responses, if its own name would reveal too much. */
  readonly reportedAs?: RateLimitName;
}

/** Counts by client address. Responses may report the count, because only this client contributes to it. */
export const byClient = (limit: RateLimitName, client: ClientInfo): RateLimitSubject => ({
  limit,
  subject: addressKey(client.ipAddress),
  isReported: true,
});

/** The result of counting a request before handling it. */
export interface Reservation {
  /** Header fields for a successful response. */
  readonly headers: Record<string, string>;
  /** Takes the counts back, for a request that was not carried out or does not count. */
  refund(): Promise<void>;
}

export interface RateLimiter {
  /**
   * Counts a request against all of the limits, or against none of them. Call it before the work: parallel requests, on
   * any number of nodes, then never exceed the quota.
   * @throws {AuthError} `rate_limited`; `temporarily_unavailable` when the database of a shared limit is unreachable
   */
  take(...subjects: readonly RateLimitSubject[]): Promise<Reservation>;
}

/** Does what was counted. What fails does not count. */
export async function refundingOnError<T>(counted: Reservation, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await counted.refund();
    throw error;
  }
}

const unlimited: RateLimiter = {
  take: async () => ({ headers: {}, refund: async () => undefined }),
};

const hashOf = (subject: string): string => sha256('rate limit', subject).toString('base64url').slice(0, 22);

/** Counts shared limits in PostgreSQL, and all others in memory. On SQLite all limits are counted in memory. */
export function createRateLimiter({
  rules,
  quotas,
  db,
  clock,
  metrics,
}: {
  rules: RateLimitRules;
  quotas: Readonly<Record<RateLimitName, Quota>> | undefined;
  db: Database;
  clock: () => number;
  metrics: Metrics;
}): RateLimiter {
  if (!quotas) return unlimited;
  const counters = Object.fromEntries(
    (Object.keys(rules) as RateLimitName[]).map((name) => [
      name,
      rules[name].shared && db.dialect === 'postgres'
        ? sharedCounter({ db, clock }, name, quotas[name])
        : memoryCounter(clock, quotas[name]),
    ]),
  ) as Record<RateLimitName, Counter>;

  const failed = (limit: RateLimitName) => metrics.limiterFailures.inc({ limit });

  const take: RateLimiter['take'] = async (...subjects) => {
    const refunds: (() => Promise<unknown>)[] = [];
    const refund = async (): Promise<void> => {
      for (const refundOne of refunds) await refundOne();
    };
    const reported: RateLimitState[] = [];
    for (const { limit, subject, isReported, reportedAs = limit } of subjects) {
      const counter = counters[limit];
      const key = hashOf(subject);
      let counted: Counted;
      try {
        counted = await counter.count(key);
      } catch (error) {
        failed(limit);
        await refund();
        throw temporarilyUnavailable(error, 'limiter_unavailable');
      }
      // A count that cannot be taken back remains until its window ends.
      refunds.push(() => counter.refund(key, counted.endsAt).catch(() => failed(limit)));
      const state = { limit: reportedAs, quota: quotas[limit], ...counted };
      if (!counted.allowed) {
        metrics.limitsHit.inc({ limit });
        await refund();
        throw rateLimited(limit, state);
      }
      if (isReported) reported.push(state);
    }
    return { headers: rateLimitFields(reported), refund };
  };
  return { take };
}

const rateLimited = (limit: RateLimitName, state: RateLimitState): AuthError =>
  new AuthError('rate_limited', 'Too many requests of this kind. Wait for the time in Retry-After.', {
    detail: limit,
    headers: {
      'Retry-After': String(secondsLeft(state.leftMs)),
      ...rateLimitFields([{ ...state, remaining: 0 }]),
    },
  });

/** What is left of one limit after a request. */
interface RateLimitState {
  readonly limit: RateLimitName;
  readonly quota: Quota;
  readonly remaining: number;
  /** Time until the window ends. */
  readonly leftMs: number;
}

/** Rounded up to at least one second, so that a client that waits this long is not too early. */
const secondsLeft = (leftMs: number): number => Math.max(1, Math.ceil(leftMs / 1000));

/**
 * The `RateLimit` and `RateLimit-Policy` header fields of a response.
 * @see draft-ietf-httpapi-ratelimit-headers
 */
const rateLimitFields = (states: readonly RateLimitState[]): Record<string, string> =>
  states.length === 0
    ? {}
    : {
        RateLimit: states
          .map(({ limit, remaining, leftMs }) => `"${limit}";r=${remaining};t=${secondsLeft(leftMs)}`)
          .join(', '),
        'RateLimit-Policy': states
          .map(({ limit, quota }) => `"${limit}";q=${quota.quota};w=${quota.windowSeconds}`)
          .join(', '),
      };

/**
 * How many keys of one limit a node keeps in memory. Beyond that the oldest key is dropped and starts a new window. An
 * attacker gains nothing from this: filling the memory takes more keys, and each of them has a quota of its own.
 */
export const maxKeysInMemory = 10_000;

/** Windows of one key end further apart than this (the shortest lasts 10 s), so the end identifies the window. */
const sameWindowMs = 1_000;

/** The state of a window after counting. */
interface Counted {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly leftMs: number;
  /** When that window ends, in milliseconds since 1970. */
  readonly endsAt: number;
}

interface Counter {
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
