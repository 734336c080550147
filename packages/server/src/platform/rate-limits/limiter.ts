import { sha256 } from '../crypto/hash.ts';
import type { Database } from '../database/executor.ts';
import { AuthError, temporarilyUnavailable } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type Counted, type Counter, memoryCounter, sharedCounter } from './counter.ts';
import { type RateLimitState, rateLimitFields, secondsLeft } from './fields.ts';
import type { Quota, RateLimitName, RateLimitRules } from './rules.ts';

/** A limit that a request counts against, and the key it is counted by. */
export interface RateLimitKey {
  readonly limit: RateLimitName;
  /** Hashed before it is stored, so that no address is kept. */
  readonly key: string;
  /** Report this limit in successful responses. Only for keys that no other person counts against. */
  readonly isReported?: boolean;
  /** The limit to name in responses, if its own name would reveal too much. */
  readonly reportedAs?: RateLimitName;
}

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
  take(...keys: readonly RateLimitKey[]): Promise<Reservation>;
}

interface Taken {
  readonly counter: Counter;
  readonly key: string;
  readonly counted: Counted;
}

const unlimited: RateLimiter = {
  take: async () => ({ headers: {}, refund: async () => undefined }),
};

const keyOf = (key: string): string => sha256('rate limit', key).toString('base64url').slice(0, 22);

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
        : memoryCounter(quotas[name]),
    ]),
  ) as Record<RateLimitName, Counter>;

  const failed = (limit: RateLimitName) => metrics.limiterFailures.inc({ limit });

  const refund = async (taken: readonly (Taken & { readonly limit: RateLimitName })[]): Promise<void> => {
    for (const { counter, key, counted, limit } of taken) {
      // A count that cannot be taken back remains until its window ends.
      await counter.refund(key, counted.endsAt).catch(() => failed(limit));
    }
  };

  const take: RateLimiter['take'] = async (...keys) => {
    const taken: (Taken & { limit: RateLimitName })[] = [];
    const reported: RateLimitState[] = [];
    for (const limitKey of keys) {
      const { limit } = limitKey;
      const counter = counters[limit];
      const key = keyOf(limitKey.key);
      let counted: Counted;
      try {
        counted = await counter.count(key);
      } catch (error) {
        failed(limit);
        await refund(taken);
        throw temporarilyUnavailable(error, 'limiter_unavailable');
      }
      taken.push({ limit, counter, key, counted });
      const state = {
        limit: limitKey.reportedAs ?? limit,
        quota: quotas[limit],
        ...counted,
      };
      if (!counted.allowed) {
        metrics.limitsHit.inc({ limit });
        await refund(taken);
        throw rateLimited(limit, state);
      }
      if (limitKey.isReported) reported.push(state);
    }
    return { headers: rateLimitFields(reported), refund: () => refund(taken) };
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
