import { sha256 } from '../crypto/hash.ts';
import type { Database } from '../database/executor.ts';
import { AuthError, temporarilyUnavailable } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type Counted, type Counter, memoryCounter, sharedCounter } from './counter.ts';
import { type RateLimitState, rateLimitFields, secondsLeft } from './fields.ts';
import { type Quota, type RateLimitName, rateLimitNames, rateLimitRules } from './rules.ts';

/** One limit that a request counts against. */
export interface RateLimitKey {
  readonly limit: RateLimitName;
  /** What is counted by. It is hashed, so no address is kept. */
  readonly key: string;
  /** Whether an answer that is not refused tells where the caller stands: only what nobody else counts into. */
  readonly isReported?: boolean;
  /** The limit that answers name instead, where its own name would say too much. */
  readonly reportedAs?: RateLimitName;
}

/** What was counted before it was acted on. */
export interface Reservation {
  /** For an answer that is not refused. */
  readonly headers: Record<string, string>;
  /** Takes it back: what was counted for was not done, or does not count. */
  refund(): Promise<void>;
}

export interface RateLimiter {
  /**
   * Counts one against each of the limits, or against none. Counting comes before the work, so that requests in
   * parallel, on any number of nodes, never get more than the quota.
   * @throws {AuthError} `rate_limited`; `temporarily_unavailable` when the store of a shared limit is out of reach
   */
  take(...demands: readonly RateLimitKey[]): Promise<Reservation>;
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

/** The limits of the settings: shared ones in PostgreSQL, all others, and all of them on SQLite, in memory. */
export function createRateLimiter({
  quotas,
  db,
  metrics,
}: {
  quotas: Readonly<Record<RateLimitName, Quota>> | undefined;
  db: Database;
  metrics: Metrics;
}): RateLimiter {
  if (!quotas) return unlimited;
  const counters = Object.fromEntries(
    rateLimitNames.map((name) => [
      name,
      rateLimitRules[name].shared && db.dialect === 'postgres'
        ? sharedCounter(db, name, quotas[name])
        : memoryCounter(name, quotas[name]),
    ]),
  ) as Record<RateLimitName, Counter>;

  const failed = (limit: RateLimitName) => metrics.limiterFailures.inc({ limit });

  const refund = async (taken: readonly (Taken & { readonly limit: RateLimitName })[]): Promise<void> => {
    for (const { counter, key, counted, limit } of taken) {
      // What cannot be given back stays counted until its window ends.
      await counter.refund(key, counted.endsAt).catch(() => failed(limit));
    }
  };

  const take: RateLimiter['take'] = async (...demands) => {
    const taken: (Taken & { limit: RateLimitName })[] = [];
    const isReported: RateLimitState[] = [];
    for (const demand of demands) {
      const { limit } = demand;
      const counter = counters[limit];
      const key = keyOf(demand.key);
      let counted: Counted;
      try {
        counted = await counter.count(key);
      } catch (error) {
        failed(limit);
        await refund(taken);
        throw temporarilyUnavailable(error, 'limiter_unavailable');
      }
      taken.push({ limit, counter, key, counted });
      const standing = {
        limit: demand.reportedAs ?? limit,
        quota: quotas[limit],
        ...counted,
      };
      if (!counted.allowed) {
        metrics.limitsHit.inc({ limit });
        await refund(taken);
        throw rateLimited(limit, standing);
      }
      if (demand.isReported) isReported.push(standing);
    }
    return { headers: rateLimitFields(isReported), refund: () => refund(taken) };
  };
  return { take };
}

const rateLimited = (limit: RateLimitName, standing: RateLimitState): AuthError =>
  new AuthError('rate_limited', 'Too many requests of this kind. Wait as long as Retry-After says.', {
    detail: limit,
    headers: {
      'Retry-After': String(secondsLeft(standing.leftMs)),
      ...rateLimitFields([{ ...standing, remaining: 0 }]),
    },
  });
