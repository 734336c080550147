import type { ErrorCode } from '@latchkey/contract/errors';

/** What goes wrong on this side of the wire. */
export type ClientErrorCode =
  /** No answer of the service came through; whether the call took effect is unknown. */
  | 'unreachable'
  /** None came in time; whether the call took effect is unknown. */
  | 'timeout'
  /** The caller's signal. */
  | 'aborted'
  /** Something answered that is no Latchkey: a wrong address, a captive portal, a proxy's own page. */
  | 'not_latchkey'
  | 'not_logged_in'
  /** The service refused the stored login for good, and it has been removed. */
  | 'login_over'
  /** Credentials could not be read or written. */
  | 'store_failed'
  /** What is stored cannot be understood. It is left as it is. */
  | 'store_corrupt'
  /** Another process kept the credentials locked for too long. */
  | 'lock_timeout';

/** Why the browser made or used no passkey. */
export type PasskeyErrorCode =
  | 'passkeys_unsupported'
  | 'no_authenticator'
  | 'passkey_cancelled'
  | 'passkey_already_there'
  | 'passkey_aborted'
  | 'passkey_failed';

/** The service's own code, or one of this side. Stable: switch on it. */
export type LatchkeyErrorCode = ErrorCode | ClientErrorCode | PasskeyErrorCode;

const codesOfThisSide: Readonly<Record<ClientErrorCode | PasskeyErrorCode, true>> = {
  unreachable: true,
  timeout: true,
  aborted: true,
  not_latchkey: true,
  not_logged_in: true,
  login_over: true,
  store_failed: true,
  store_corrupt: true,
  lock_timeout: true,
  passkeys_unsupported: true,
  no_authenticator: true,
  passkey_cancelled: true,
  passkey_already_there: true,
  passkey_aborted: true,
  passkey_failed: true,
};

/** Whether a code may come from a service: none of those that mean something on this side. */
export const isServerError = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && !Object.hasOwn(codesOfThisSide, code);

interface Circumstances {
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly intervalSeconds?: number | undefined;
  readonly cause?: unknown;
}

const retryableCodes: ReadonlySet<LatchkeyErrorCode> = new Set([
  'unreachable',
  'timeout',
  'lock_timeout',
  'rate_limited',
  'server_error',
  'temporarily_unavailable',
]);

/** The one error of this package. Its message is for developers and holds no secret. */
export class LatchkeyError extends Error {
  readonly code: LatchkeyErrorCode;
  /** The HTTP status, where something answered. */
  readonly status: number | undefined;
  /** Names the request in the service's log. */
  readonly requestId: string | undefined;
  /** From `Retry-After`: with 429 and 503. */
  readonly retryAfterSeconds: number | undefined;
  /** The polling interval that comes with `slow_down`. */
  readonly intervalSeconds: number | undefined;

  constructor(code: LatchkeyErrorCode, message: string, circumstances: Circumstances = {}) {
    super(message, circumstances.cause === undefined ? undefined : { cause: circumstances.cause });
    this.name = 'LatchkeyError';
    this.code = code;
    this.status = circumstances.status;
    this.requestId = circumstances.requestId;
    this.retryAfterSeconds = circumstances.retryAfterSeconds;
    this.intervalSeconds = circumstances.intervalSeconds;
  }

  /** Whether the same may well succeed later, and nothing is lost until then. */
  get retryable(): boolean {
    return retryableCodes.has(this.code);
  }
}

/** Whether this is an error of this package with one of these codes. */
export const hasCode = (error: unknown, ...codes: LatchkeyErrorCode[]): error is LatchkeyError =>
  error instanceof LatchkeyError && codes.includes(error.code);
