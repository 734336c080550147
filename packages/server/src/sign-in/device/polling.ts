/** The columns of a device authorization that decide a poll. */
export interface PolledAuthorization {
  readonly status: 'pending' | 'approved' | 'denied' | 'redeemed' | 'cancelled';
  readonly expires_at: number;
  readonly interval_seconds: number;
  readonly last_poll_at: number;
  readonly redeemed_at: number | null;
  readonly idempotency_hash: string | null;
}

/** What to do about a poll. The first three need a write, which a concurrent poll may win. */
export type PollDecision =
  | 'keep_waiting'
  | 'slow_down'
  | 'redeem'
  | 'repeat'
  | 'denied'
  | 'expired'
  | 'spent';

/** How much earlier than the interval a poll may come: clocks in virtual machines run fast. */
export const earlyPollToleranceMs = 1_000;

/** How much an early poll adds to the interval. @see RFC 8628 section 3.5 */
export const slowDownSeconds = 5;

/** How long a repeated request gets the same tokens again. */
const redeemRetryWindowSeconds = 60;

/**
 * Decides a poll from the state of its authorization. Only a pending authorization enforces the interval, so that the
 * client learns the user's decision with its next poll, however early.
 */
export function decidePoll(
  authorization: PolledAuthorization,
  idempotencyHash: string | null,
  now: number,
): PollDecision {
  const { status, redeemed_at } = authorization;
  if (status === 'redeemed') {
    const isSameRequest = idempotencyHash !== null && idempotencyHash === authorization.idempotency_hash;
    const isInWindow = redeemed_at !== null && now - redeemed_at <= redeemRetryWindowSeconds * 1000;
    return isSameRequest && isInWindow ? 'repeat' : 'spent';
  }
  if (status === 'denied') return 'denied';
  if (status === 'cancelled') return 'spent';
  if (authorization.expires_at <= now) return 'expired';
  if (status === 'approved') return 'redeem';
  const earliest = authorization.last_poll_at + authorization.interval_seconds * 1000 - earlyPollToleranceMs;
  return now < earliest ? 'slow_down' : 'keep_waiting';
}
