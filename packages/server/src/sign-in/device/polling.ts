/** A device login as a poll sees it. */
export interface PolledAuthorization {
  readonly status: 'pending' | 'approved' | 'denied' | 'redeemed';
  readonly expires_at: number;
  readonly interval_seconds: number;
  readonly last_poll_at: number;
  readonly redeemed_at: number | null;
  readonly idempotency_hash: string | null;
}

/** What a poll comes to, before anything is written. */
export type PollOutcome = 'accept' | 'slow_down' | 'redeem' | 'repeat' | 'denied' | 'expired' | 'spent';

/** How much earlier than the interval a poll may come: clocks in virtual machines run fast. */
const earlyPollToleranceMs = 1_000;

/** How much an early poll adds to the interval. @see RFC 8628 section 3.5 */
export const slowDownSeconds = 5;

/** How long a repeated request gets the same tokens again. */
const redeemRetryWindowSeconds = 60;

/** Decides what a poll comes to. Only pending logins know early polls: a decision is told at once. */
export function pollOutcome(
  authorization: PolledAuthorization,
  idempotencyHash: string | null,
  now: number,
): PollOutcome {
  const { status, redeemed_at } = authorization;
  if (status === 'redeemed') {
    const sameRequest = idempotencyHash !== null && idempotencyHash === authorization.idempotency_hash;
    const inTime = redeemed_at !== null && now - redeemed_at <= redeemRetryWindowSeconds * 1000;
    return sameRequest && inTime ? 'repeat' : 'spent';
  }
  if (status === 'denied') return 'denied';
  if (authorization.expires_at <= now) return 'expired';
  if (status === 'approved') return 'redeem';
  const earliest = authorization.last_poll_at + authorization.interval_seconds * 1000 - earlyPollToleranceMs;
  return now < earliest ? 'slow_down' : 'accept';
}
