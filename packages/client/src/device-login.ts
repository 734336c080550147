import type { TokenSet } from '@latchkey/contract/tokens';
import type { Api } from './api.ts';
import { type Clock, systemClock } from './clock.ts';
import { checkedTokens, newIdempotencyKey } from './credentials.ts';
import { hasCode, LatchkeyError, type LatchkeyErrorCode } from './errors.ts';

export interface DeviceLoginOptions {
  /** Shown to the person who approves, as the words of a stranger; at most 100 characters each. */
  readonly clientName?: string;
  readonly deviceName?: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export interface Wait {
  readonly seconds: number;
  /** What the last poll came to; absent before the first. */
  readonly because?: LatchkeyErrorCode;
}

/** A login that waits for a person. */
export interface DeviceLogin {
  /** To be read and typed: `BCDF-GHJK`. */
  readonly userCode: string;
  readonly verificationUri: string;
  /** The same with the code in it. */
  readonly verificationUriComplete: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
  /**
   * Polls until the person has decided. A lost answer, a busy server or a network that comes and goes only make
   * it poll again.
   * @throws {LatchkeyError} `access_denied`, `expired_token`, `account_disabled`, `invalid_grant`, `aborted`
   */
  tokens(options?: { signal?: AbortSignal; onWait?: (wait: Wait) => void }): Promise<TokenSet>;
}

/** How many intervals to wait: clocks in virtual machines run fast, and the server's decides. */
const intervalsToWait = 1.2;
/** How many more after each `slow_down`, so that a clock of any speed comes to keep the interval. */
const moreIntervals = 0.2;
/** @see RFC 8628 section 3.5 */
const slowDownSeconds = 5;
/** @see RFC 8628 section 3.2 */
const defaultIntervalSeconds = 5;
/** After a failed connection the wait doubles, up to here: a redeemed code is answered again for 60 s only. */
const maxDoubledSeconds = 15;
/** A clock that runs at twice the right speed ends no login early. */
const lifetimesToWait = 2;

/** Starts a device login. @see RFC 8628 */
export async function startDeviceLogin(api: Api, options: DeviceLoginOptions = {}): Promise<DeviceLogin> {
  const { clientName, deviceName, clock = systemClock, signal } = options;
  const started = await api.call('startDeviceAuthorization', {
    body: {
      ...(clientName === undefined ? {} : { client_name: clientName }),
      ...(deviceName === undefined ? {} : { device_name: deviceName }),
    },
    signal,
  });
  const { device_code, user_code, verification_uri, verification_uri_complete, expires_in } = Object(
    started,
  ) as typeof started;
  const isWhole =
    [device_code, user_code].every((code) => typeof code === 'string' && code !== '') &&
    [verification_uri, verification_uri_complete].every(isWebAddress) &&
    Number.isFinite(expires_in);
  if (!isWhole) throw new LatchkeyError('not_latchkey', 'The answer starts no device login.');
  const intervalSeconds = started.interval > 0 ? started.interval : defaultIntervalSeconds;
  const idempotencyKey = newIdempotencyKey();

  const tokens: DeviceLogin['tokens'] = async ({ signal, onWait } = {}) => {
    let interval = intervalSeconds;
    let intervals = intervalsToWait;
    let waited = 0;
    let last: LatchkeyError | undefined;
    while (waited <= expires_in * lifetimesToWait) {
      const seconds = Math.min(secondsToWait(interval * intervals, last), expires_in);
      onWait?.(last ? { seconds, because: last.code } : { seconds });
      await clock.sleep(seconds * 1000, signal);
      waited += seconds;
      try {
        const answer = await api.call('redeemDeviceCode', {
          body: { device_code },
          headers: { 'Idempotency-Key': idempotencyKey },
          signal,
        });
        return checkedTokens(answer);
      } catch (error) {
        if (!(error instanceof LatchkeyError) || !goesOn(error)) throw error;
        last = error;
      }
      if (last.code === 'slow_down') {
        interval = Math.max(interval, last.intervalSeconds ?? interval + slowDownSeconds);
        intervals += moreIntervals;
      }
    }
    throw new LatchkeyError('expired_token', 'The login was not approved in time.', { cause: last });
  };

  return {
    userCode: user_code,
    verificationUri: verification_uri,
    verificationUriComplete: verification_uri_complete,
    expiresInSeconds: expires_in,
    intervalSeconds,
    tokens,
  };
}

/** A captive portal may come up after the start: the server has shown by then that it is one. */
const goesOn = (error: LatchkeyError): boolean =>
  error.retryable || hasCode(error, 'authorization_pending', 'slow_down', 'not_latchkey');

function secondsToWait(usual: number, last: LatchkeyError | undefined): number {
  if (!last) return usual;
  if (last.code === 'unreachable' || last.code === 'timeout') {
    return Math.max(usual, Math.min(usual * 2, maxDoubledSeconds));
  }
  return Math.max(usual, last.retryAfterSeconds ?? 0);
}

/** A program may be about to open this: nothing but a web page. */
const isWebAddress = (address: string): boolean =>
  URL.canParse(address) && ['http:', 'https:'].includes(new URL(address).protocol);
