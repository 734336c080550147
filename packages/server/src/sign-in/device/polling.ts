/** The columns of a device authorization that decide a poll. */
export interface PolledAuthorization {
  readonly status: 'pending' | 'approved' | 'denied' | 'redeemed' | 'cancelled';
  readonly expires_at: number;
  readonly interval_seconds: number;
  readonly last_poll_at: number;
  readonly redeemed_at: number | null;
  readonly idempotency_hash: string | null;
  /** The approval needs a confirmation code. */
  readonly confirmation_hash: string | null;
  /** The hashes of the polls that brought a wrong one, separated by spaces. */
  readonly confirmation_tried: string | null;
}

/** What makes a poll a repetition of an earlier one. */
interface RepeatedPoll {
  readonly idempotencyHash: string | null;
  /** Of the idempotency key and the confirmation code. */
  readonly triedHash: string | null;
}

/** Identifies the request that redeems an authorization. With another confirmation code it is another request. */
export const requestHash = (
  { confirmation_hash }: Pick<PolledAuthorization, 'confirmation_hash'>,
  { idempotencyHash, triedHash }: RepeatedPoll,
): string | null => (confirmation_hash === null ? idempotencyHash : triedHash);

/** What to do about a poll. `keep_waiting`, `slow_down`, `redeem` and `confirm` need a write, which a concurrent poll may win. */
export type PollDecision =
  | 'keep_waiting'
  | 'slow_down'
  | 'redeem'
  | 'confirm'
  | 'refuse_again'
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
 * Decides a poll from the state of its authorization. Only an authorization that is pending or has to be confirmed enforces the
 * interval, so that the client learns any other decision with its next poll, however early. A held poll is never early.
 */
export function decidePoll(
  authorization: PolledAuthorization,
  poll: RepeatedPoll,
  now: number,
  isHeld = false,
): PollDecision {
  const { status, redeemed_at } = authorization;
  const { triedHash } = poll;
  if (status === 'redeemed') {
    const hash = requestHash(authorization, poll);
    const isSameRequest = hash !== null && hash === authorization.idempotency_hash;
    const isInWindow = redeemed_at !== null && now - redeemed_at <= redeemRetryWindowSeconds * 1000;
    return isSameRequest && isInWindow ? 'repeat' : 'spent';
  }
  if (status === 'denied') return 'denied';
  if (status === 'cancelled') return 'spent';
  if (authorization.expires_at <= now) return 'expired';
  if (status === 'approved' && authorization.confirmation_hash === null) return 'redeem';
  const earliest = authorization.last_poll_at + authorization.interval_seconds * 1000 - earlyPollToleranceMs;
  const isEarly = now < earliest;
  if (
    status === 'approved' &&
    triedHash !== null &&
    authorization.confirmation_tried?.split(' ').includes(triedHash)
  )
    return 'refuse_again';
  if (status === 'approved') return isEarly && !isHeld ? 'slow_down' : 'confirm';
  return isEarly ? 'slow_down' : 'keep_waiting';
}
