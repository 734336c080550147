import type { Quota, RateLimitName } from './rules.ts';

/** What is left of one limit after a request. */
export interface RateLimitState {
  readonly limit: RateLimitName;
  readonly quota: Quota;
  readonly remaining: number;
  /** Time until the window ends. */
  readonly leftMs: number;
}

/** Rounded up to at least one second, so that a client that waits this long is not too early. */
export const secondsLeft = (leftMs: number): number => Math.max(1, Math.ceil(leftMs / 1000));

/**
 * The `RateLimit` and `RateLimit-Policy` header fields of a response.
 * @see draft-ietf-httpapi-ratelimit-headers
 */
export const rateLimitFields = (states: readonly RateLimitState[]): Record<string, string> =>
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
