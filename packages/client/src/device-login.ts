import type { TokenSet } from '@latchkey/contract/tokens';
import type { Api } from './api.ts';
import { aborted, type Clock, inTime, systemClock, unlessAborted } from './clock.ts';
import { newIdempotencyKey } from './credentials.ts';
import { hasCode, LatchkeyError, type LatchkeyErrorCode } from './errors.ts';
import type { Answer } from './operations.ts';
import { requireOwnAddress } from './own-address.ts';
import { revokeToken } from './revoke-token.ts';

/** What every way to start a login takes. */
export interface LoginOptions {
  /** Shown to the person who approves, marked as unverified. At most 100 characters. */
  readonly deviceName?: string | undefined;
  /** What the tokens may do: names separated by spaces. Default: everything the person may do. */
  readonly scope?: string;
  /** The URI of the only service that accepts the tokens. */
  readonly resource?: string;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export interface DeviceLoginOptions extends LoginOptions {
  /** Shown like the name of the device. */
  readonly clientName?: string;
  /**
   * Asks the person for the code that their browser shows after approving, where the service requires it: for approvals
   * from another network. Called again after a wrong code. Without it, such an approval is not possible.
   */
  readonly askConfirmationCode?: ((attempt: number) => Promise<string>) | undefined;
}

/** The pause before a poll. */
export interface Wait {
  readonly seconds: number;
  /** The error code of the previous poll; absent before the first. */
  readonly because?: LatchkeyErrorCode;
}

export interface PollOptions {
  readonly signal?: AbortSignal;
  /**
   * How long the service may hold a poll, so that its response comes as soon as the person has decided. 0 polls at
   * intervals only. Default and maximum: 25.
   */
  readonly holdSeconds?: number;
  /** Called before each wait. */
  readonly onWait?: (wait: Wait) => void;
}

/** A device login that waits for approval. */
export interface DeviceLogin {
  /** For people to type: `BCDF-GHJK`. */
  readonly userCode: string;
  readonly verificationUri: string;
  /** The same address with the code in it. */
  readonly verificationUriComplete: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
  /**
   * Polls until the person has decided. The service holds each poll, so the tokens usually arrive with the approval. Lost responses, a busy server and a flaky network only cause another poll.
   * @throws {LatchkeyError} `access_denied`, `expired_token`, `account_disabled`, `invalid_grant`, `aborted`
   */
  tokens(options?: PollOptions): Promise<TokenSet>;
  /**
   * Cancels the login: its code can no longer be approved, and a session that it has already started ends. Call it when
   * `tokens` was aborted.
   */
  cancel(timeoutMs?: number): Promise<void>;
}

/** Intervals to wait: clocks in virtual machines run fast, and the server's clock decides. */
const intervalsToWait = 1.2;
/** More intervals after each `slow_down`, so that a clock of any speed ends up keeping the interval. */
const moreIntervals = 0.2;
/** @see RFC 8628 section 3.5 */
const slowDownSeconds = 5;
/** @see RFC 8628 section 3.2 */
const defaultIntervalSeconds = 5;
/** Maximum of the doubled wait after a failed connection: the service repeats the response of a redemption for 60 s. */
const maxDoubledSeconds = 15;
/** The maximum of the service, and less than the read timeout of common proxies. */
const maxHoldSeconds = 25;
/** For an aborted start to be cancelled at the service. */
const abandonMs = 2_000;
/** Lifetimes of the code to wait, so that a clock at twice the right speed does not give up early. */
const lifetimesToWait = 2;

/**
 * Starts a device login: show its code and link, then wait for its tokens.
 * @throws {LatchkeyError} `wrong_address` if the link leads to another origin than the API's
 * @see RFC 8628
 * @example
 * const login = await startDeviceLogin(api, { clientName: 'Projects' });
 * console.error(login.verificationUriComplete, login.userCode);
 * const tokens = await login.tokens();
 */
export async function startDeviceLogin(api: Api, options: DeviceLoginOptions = {}): Promise<DeviceLogin> {
  const { askConfirmationCode, clock = systemClock, signal } = options;
  if (signal?.aborted) throw aborted(signal);
  // Not aborted: a code whose response is lost could not be cancelled.
  const request = api.call('startDeviceAuthorization', {
    body: {
      client_name: options.clientName,
      device_name: options.deviceName,
      scope: options.scope,
      resource: options.resource,
      confirmation: askConfirmationCode ? true : undefined,
    },
  });
  const started = await unlessAborted(request, signal).catch(async (error: unknown) => {
    if (hasCode(error, 'aborted')) await abandon(api, request);
    throw error;
  });
  const verificationUri = requireOwnAddress(api.server, started.verification_uri);
  const verificationUriComplete = requireOwnAddress(api.server, started.verification_uri_complete);
  const idempotencyKey = newIdempotencyKey();
  const pollOnce: PollOnce = async (holdSeconds, confirmationCode, pollSignal) => {
    try {
      return await api.call('issueToken', {
        body: { device_code: started.device_code, confirmation_code: confirmationCode },
        headers: {
          'Idempotency-Key': idempotencyKey,
          ...(holdSeconds > 0 ? { Prefer: `wait=${holdSeconds}` } : {}),
        },
        signal: pollSignal,
        timeoutMs: api.timeoutMs + holdSeconds * 1000,
      });
    } catch (error) {
      if (error instanceof LatchkeyError && canPollAgain(error)) return error;
      if (confirmationCode !== undefined && hasCode(error, 'access_denied'))
        throw new LatchkeyError(
          'access_denied',
          'The code was wrong too often, so the request was refused.',
          { cause: error },
        );
      throw error;
    }
  };
  const login = {
    userCode: started.user_code,
    verificationUri,
    verificationUriComplete,
    expiresInSeconds: started.expires_in,
    intervalSeconds: started.interval > 0 ? started.interval : defaultIntervalSeconds,
  };
  return {
    ...login,
    tokens: (pollOptions = {}) =>
      pollForTokens(pollOnce, { ...pollOptions, ...login, clock, askConfirmationCode }),
    cancel: (timeoutMs) => revokeToken(api, started.device_code, timeoutMs),
  };
}

/** Cancels a login whose code has not arrived yet, unless that takes too long: no one has seen the code. */
const abandon = (api: Api, request: Promise<Answer<'startDeviceAuthorization'>>): Promise<void> =>
  inTime(
    request.then(({ device_code }) => revokeToken(api, device_code, abandonMs)),
    abandonMs,
    () => new Error('no response in time'),
  ).catch(() => {});

/** One poll: the tokens, or the error after which to poll again. @throws {LatchkeyError} any other error */
type PollOnce = (
  holdSeconds: number,
  confirmationCode: string | undefined,
  signal: AbortSignal | undefined,
) => Promise<TokenSet | LatchkeyError>;

interface Polling extends PollOptions, Pick<DeviceLogin, 'intervalSeconds' | 'expiresInSeconds'> {
  readonly clock: Clock;
  readonly askConfirmationCode: DeviceLoginOptions['askConfirmationCode'];
}

/** @see RFC 8628 section 3.5 */
async function pollForTokens(pollOnce: PollOnce, options: Polling): Promise<TokenSet> {
  const { clock, intervalSeconds, expiresInSeconds, askConfirmationCode, signal, onWait } = options;
  let holdSeconds = Math.min(options.holdSeconds ?? maxHoldSeconds, maxHoldSeconds);
  let interval = intervalSeconds;
  let intervals = intervalsToWait;
  let waited = 0;
  let last: LatchkeyError | undefined;
  let confirmationCode: string | undefined;
  let attempts = 0;
  while (waited <= expiresInSeconds * lifetimesToWait) {
    let askedSeconds = 0;
    if (last?.code === 'confirmation_required') {
      // The person has approved, and the browser shows a code that proves it was this login.
      if (!askConfirmationCode)
        throw new LatchkeyError(
          'access_denied',
          'The service requires a code that this program cannot ask for.',
        );
      const askedAt = clock.now();
      confirmationCode = await unlessAborted(askConfirmationCode(++attempts), signal);
      askedSeconds = Math.max(0, (clock.now() - askedAt) / 1000);
    }
    // A held poll may come at once; any other would be too early.
    if (last || holdSeconds === 0) {
      const usual = Math.max(0, interval * intervals - askedSeconds);
      const seconds = Math.min(secondsToWait(usual, last), expiresInSeconds);
      onWait?.(last ? { seconds, because: last.code } : { seconds });
      await clock.sleep(seconds * 1000, signal);
      waited += seconds;
    }
    const answer = await pollOnce(holdSeconds, confirmationCode, signal);
    if (!(answer instanceof LatchkeyError)) return answer;
    last = answer;
    if (isCutOff(last)) holdSeconds = 0;
    if (last.code === 'slow_down') {
      interval = Math.max(interval, last.intervalSeconds ?? interval + slowDownSeconds);
      intervals += moreIntervals;
    }
  }
  throw new LatchkeyError('expired_token', 'The login was not approved in time.', { cause: last });
}

/** Whether the network or a proxy may have cut off the poll because it was held. */
const isCutOff = ({ code, requestId }: LatchkeyError): boolean =>
  code === 'unreachable' ||
  code === 'timeout' ||
  (code === 'temporarily_unavailable' && requestId === undefined);

/** Includes `not_latchkey`: the server has already proved to be one, so this is a captive portal or the like. */
const canPollAgain = ({ retryable, code }: LatchkeyError): boolean =>
  retryable || ['authorization_pending', 'slow_down', 'confirmation_required', 'not_latchkey'].includes(code);

function secondsToWait(usual: number, last: LatchkeyError | undefined): number {
  if (!last) return usual;
  if (last.code === 'unreachable' || last.code === 'timeout') {
    return Math.max(usual, Math.min(usual * 2, maxDoubledSeconds));
  }
  return Math.max(usual, last.retryAfterSeconds ?? 0);
}
