import { sha256 } from '../crypto/primitives.ts';
import type { Database } from '../database/executor.ts';
import { AuthError, temporarilyUnavailable } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { addressKey, type ClientInfo } from '../values/client-address.ts';
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
   * Counts a request against all of the limits, or against none of them. Call it before the work: parallel
   * requests, on any number of nodes, then never exceed a quota.
   * @throws {AuthError} `rate_limited`; `temporarily_unavailable` if a shared limit's database is unreachable
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

/** Counts shared limits in PostgreSQL and all others in memory. On SQLite, all limits are in memory. */
export function createRateLimiter(
  rules: RateLimitRules,
  quotas: Readonly<Record<RateLimitName, Quota>> | undefined,
  { db, clock, metrics }: { db: Database; clock: () => number; metrics: Metrics },
): RateLimiter {
  if (!quotas) return { take: async () => ({ headers: {}, refund: async () => undefined }) };
  const counters = Object.fromEntries(
    (Object.keys(rules) as RateLimitName[]).map((name) => [
      name,
      rules[name].shared && db.dialect === 'postgres'
        ? sharedCounter(db, name, quotas[name])
        : memoryCounter(quotas[name]),
    ]),
  ) as Record<RateLimitName, Counter>;

  const failed = (limit: RateLimitName) => metrics.limiterFailures.inc({ limit });

  const take: RateLimiter['take'] = async (...subjects) => {
    const refunds: (() => Promise<unknown>)[] = [];
    const refund = async (): Promise<void> => {
      for (const refundOne of refunds) await refundOne();
    };
    const count = async ({ limit, subject, reportedAs = limit }: RateLimitSubject) => {
      const quota = quotas[limit];
      const counter = counters[limit];
      const key = sha256('rate limit', subject).toString('base64url').slice(0, 22);
      const now = clock();
      const { points, endsAt } = await counter.count(key, now).catch((error: unknown) => {
        failed(limit);
        throw temporarilyUnavailable(error, 'limiter_unavailable');
      });
      // A count that cannot be taken back remains until its window ends.
      refunds.push(() => counter.refund(key, endsAt).catch(() => failed(limit)));
      // The clock of the node that started the window may be ahead by milliseconds.
      const leftMs = Math.min(Math.max(endsAt - now, 0), quota.windowSeconds * 1000);
      const state = { limit: reportedAs, quota, remaining: Math.max(quota.quota - points, 0), leftMs };
      if (points <= quota.quota) return state;
      metrics.limitsHit.inc({ limit });
      throw rateLimited(limit, state);
    };
    const reported: RateLimitState[] = [];
    try {
      for (const subject of subjects) {
        const state = await count(subject);
        if (subject.isReported) reported.push(state);
      }
    } catch (error) {
      await refund();
      throw error;
    }
    return { headers: rateLimitFields(reported), refund };
  };
  return { take };
}

const rateLimited = (limit: RateLimitName, state: RateLimitState): AuthError =>
  new AuthError('rate_limited', 'Too many requests of this kind. Wait for the time in Retry-After.', {
    detail: limit,
    headers: { 'Retry-After': String(secondsLeft(state.leftMs)), ...rateLimitFields([state]) },
  });

interface RateLimitState {
  readonly limit: RateLimitName;
  readonly quota: Quota;
  readonly remaining: number;
  readonly leftMs: number;
}

/** Rounded up to at least one second, so that a client that waits this long is not too early. */
const secondsLeft = (leftMs: number): number => Math.max(1, Math.ceil(leftMs / 1000));

/** The `RateLimit` and `RateLimit-Policy` headers. @see draft-ietf-httpapi-ratelimit-headers */
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

/** Beyond that the oldest starts a new window. Filling it takes an attacker more keys, each with a quota. */
export const maxKeysInMemory = 10_000;

/** The windows of a key end further apart than this (the shortest lasts 10 s), so the end identifies one. */
const sameWindowMs = 1_000;

interface Counter {
  /** Adds one, atomically, allowed or not. `endsAt`: when the window ends, in milliseconds since 1970. */
  count(key: string, now: number): Promise<{ readonly points: number; readonly endsAt: number }>;
  /** Subtracts one from the window that ends at this time. */
  refund(key: string, endsAt: number): Promise<unknown>;
}

/** Counts in the memory of this process, for at most `maxKeys` keys. */
export function memoryCounter({ windowSeconds }: Quota, maxKeys: number = maxKeysInMemory): Counter {
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
  return {
    count: async (key, now) => {
      const current = windows.get(key);
      const window = current && current.endsAt > now ? current : start(key, now);
      window.points += 1;
      return { ...window };
    },
    refund: async (key, endsAt) => {
      const window = windows.get(key);
      if (window?.endsAt === endsAt && window.points > 0) window.points -= 1;
    },
  };
}

const sharedCounter = (db: Database, limit: RateLimitName, { windowSeconds }: Quota): Counter => ({
  count: async (key, now) => {
    const window = { key: `${limit}:${key}`, now, ends_at: now + windowSeconds * 1000 };
    const [counted] = await store.countPoint(db.single, window);
    return { points: counted!.points, endsAt: counted!.expire };
  },
  refund: (key, endsAt) =>
    store.refundPoint(db.single, {
      key: `${limit}:${key}`,
      ends_after: endsAt - sameWindowMs,
      ends_before: endsAt + sameWindowMs,
    }),
});

/** How many requests are allowed in a window. The window starts with the first request. */
export interface Quota {
  readonly quota: number;
  readonly windowSeconds: number;
}

/** A rate limit with its default. The code that takes a limit decides what counts. */
export interface Rule extends Quota {
  /** Count for all nodes together. Other limits protect a single node and are counted in its memory. */
  readonly shared: boolean;
  /** What counts, and by which key, in Markdown. */
  readonly description: string;
}

const limit =
  (shared: boolean) =>
  (quota: number, windowSeconds: number, description: string): Rule => {
    return { quota, windowSeconds, shared, description };
  };

export const sharedLimit = limit(true);
export const nodeLimit = limit(false);

export type Rules = Readonly<Record<string, Rule>>;

/** The names of all rate limits. Each layer declares its own, and `settings.ts` above puts them together. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface RateLimits {}

export type RateLimitName = keyof RateLimits;

export type RateLimitRules = Readonly<Record<RateLimitName, Rule>>;
