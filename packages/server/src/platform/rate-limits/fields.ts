import type { Quota, RateLimitName } from './rules.ts';

/** Where a caller stands with one limit after a request. */
export interface RateLimitState {
  readonly limit: RateLimitName;
  readonly quota: Quota;
  readonly remaining: number;
  /** Until the window ends. */
  readonly leftMs: number;
}

/** At least one second, so that who waits as told is not early. */
export const secondsLeft = (leftMs: number): number => Math.max(1, Math.ceil(leftMs / 1000));

/**
 * The `RateLimit` and `RateLimit-Policy` fields of an answer.
 * @see draft-ietf-httpapi-ratelimit-headers
 */
export const rateLimitFields = (standings: readonly RateLimitState[]): Record<string, string> =>
  standings.length === 0
    ? {}
    : {
        RateLimit: standings
          .map(({ limit, remaining, leftMs }) => `"${limit}";r=${remaining};t=${secondsLeft(leftMs)}`)
          .join(', '),
        'RateLimit-Policy': standings
          .map(({ limit, quota }) => `"${limit}";q=${quota.quota};w=${quota.windowSeconds}`)
          .join(', '),
      };
