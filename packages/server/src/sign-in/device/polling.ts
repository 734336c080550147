import { AuthError, type ErrorDetail } from '../../platform/errors.ts';

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

interface Poll {
  /** In milliseconds since 1970. */
  readonly now: number;
  /** It was accepted before, so it is neither early nor accepted again. */
  readonly isHeld: boolean;
  /** Identifies a repeated request. */
  readonly idempotencyHash: string | null;
  /** Of the idempotency key and the confirmation code. */
  readonly triedHash: string | null;
}

/** Identifies the request that redeems an authorization. With another confirmation code it is another request. */
export const requestHash = (
  { confirmation_hash }: Pick<PolledAuthorization, 'confirmation_hash'>,
  { idempotencyHash, triedHash }: Pick<Poll, 'idempotencyHash' | 'triedHash'>,
): string | null => (confirmation_hash === null ? idempotencyHash : triedHash);

/** How much earlier than the interval a poll may come: clocks in virtual machines run fast. */
export const earlyPollToleranceMs = 1_000;

/** How much an early poll adds to the interval. @see RFC 8628 section 3.5 */
export const slowDownSeconds = 5;

/** How long a repeated request gets the same tokens again. */
const redeemRetryWindowMs = 60_000;

/**
 * The next step of a poll, from the state of its authorization. All but `wait` and `repeat` are a write, which a concurrent poll
 * may win. Only an authorization that is pending or has to be confirmed enforces the interval, so that the client learns any
 * other decision with its next poll, however early.
 * @throws {AuthError} `access_denied`, `expired_token`, `invalid_grant`; `confirmation_required` for a repeated wrong code
 */
export function decidePoll(
  authorization: PolledAuthorization,
  poll: Poll,
): 'accept' | 'wait' | 'slow_down' | 'confirm' | 'redeem' | 'repeat' {
  const { status, confirmation_hash } = authorization;
  if (status === 'denied') throw denied();
  if (status === 'cancelled') throw unknownDeviceCode('spent');
  if (status === 'redeemed') {
    const hash = requestHash(authorization, poll);
    const isSameRequest = hash !== null && hash === authorization.idempotency_hash;
    if (isSameRequest && poll.now - authorization.redeemed_at! <= redeemRetryWindowMs) return 'repeat';
    throw unknownDeviceCode('spent');
  }
  if (authorization.expires_at <= poll.now) throw expired();
  if (status === 'approved' && confirmation_hash === null) return 'redeem';
  if (poll.isHeld) return status === 'pending' ? 'wait' : 'confirm';
  const tried = authorization.confirmation_tried?.split(' ');
  if (poll.triedHash !== null && tried?.includes(poll.triedHash)) throw confirmationRequired();
  const earliest = authorization.last_poll_at + authorization.interval_seconds * 1000 - earlyPollToleranceMs;
  if (poll.now < earliest) return 'slow_down';
  return status === 'pending' ? 'accept' : 'confirm';
}

export const pendingAuthorization = (detail?: ErrorDetail) =>
  new AuthError('authorization_pending', 'The user has not approved this device yet. Keep polling.', {
    detail,
  });

export const slowDown = (intervalSeconds: number) =>
  new AuthError('slow_down', `Wait ${intervalSeconds} seconds between polls.`, {
    members: { interval: intervalSeconds },
  });

export const confirmationRequired = () =>
  new AuthError(
    'confirmation_required',
    'Ask the user for the code that the page shows, and poll again with it as confirmation_code.',
  );

export const denied = () => new AuthError('access_denied', 'The request was denied.');

export const expired = () =>
  new AuthError('expired_token', 'The device code has expired. Request a new one.');

export const unknownDeviceCode = (detail: ErrorDetail) =>
  new AuthError('invalid_grant', 'The device code is unknown, was cancelled, or has already been redeemed.', {
    detail,
  });
