import type { ErrorCode } from '@latchkey/contract/errors';

const clientCodes = [
  /** No response arrived; whether the call took effect is unknown. */
  'unreachable',
  /** No response arrived in time; whether the call took effect is unknown. */
  'timeout',
  /** A login in a browser is not possible: the port is taken, or the service does not offer it. */
  'browser_login_unavailable',
  /** The caller's `signal` was aborted. */
  'aborted',
  /** Something else responded: a wrong address, a captive portal, a proxy's own page. */
  'not_latchkey',
  /** The server names another address as its own, so a sign-in might end up at a server that the person does not see. */
  'wrong_address',
  'not_logged_in',
  /** The service refused the stored login for good, and it has been removed; or an agent's login was replaced. */
  'login_over',
  /** Credentials could not be read or written. */
  'store_failed',
  /** The stored credentials cannot be parsed. They are left unchanged. */
  'store_corrupt',
  /** Another process held the credentials' lock for too long. */
  'lock_timeout',
] as const;

const passkeyCodes = [
  'passkeys_unsupported',
  'no_authenticator',
  'passkey_cancelled',
  'passkey_already_there',
  'passkey_aborted',
  'passkey_failed',
] as const;

export type ClientErrorCode = (typeof clientCodes)[number];

/** Why the browser created or used no passkey. */
export type PasskeyErrorCode = (typeof passkeyCodes)[number];

/** The service's own code, or one of the client's. Codes are stable: switch on them. */
export type LatchkeyErrorCode = ErrorCode | ClientErrorCode | PasskeyErrorCode;

/** What a `store_failed` is about, where that is known: it decides the advice to give. */
export type StorageObstacle =
  | 'permission'
  | 'read_only_file_system'
  /** The file itself is mounted, as into a container, so it cannot be replaced. */
  | 'mounted_file'
  /** A full disk, a quota or a file size limit. */
  | 'space'
  /** Something other than a file or directory is at the path, or nothing is. */
  | 'path'
  /** The keychain is locked or does not respond. */
  | 'keychain';

const ownCodes: ReadonlySet<unknown> = new Set([...clientCodes, ...passkeyCodes]);

/** Whether a service may send this code: the client's own codes are reserved. @internal */
export const isServerError = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && /^\w{1,64}$/.test(code) && !ownCodes.has(code);

/** Messages may repeat what a server says. */
const maxMessageLength = 2_000;
/** The maximum of the service. */
const maxRequestIdLength = 128;

type ErrorDetails = Partial<Omit<LatchkeyError, 'code' | 'retryable' | keyof Error>> & {
  readonly cause?: unknown;
};

const retryableCodes: ReadonlySet<LatchkeyErrorCode> = new Set([
  'unreachable',
  'timeout',
  'lock_timeout',
  'rate_limited',
  'server_error',
  'temporarily_unavailable',
]);

/**
 * The only error class of this package. Its message is for developers and contains no secrets.
 * @example
 * if (error instanceof LatchkeyError && error.retryable) retryLater();
 */
export class LatchkeyError extends Error {
  readonly code: LatchkeyErrorCode;
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;
  /** Identifies the request in the service's log. */
  readonly requestId: string | undefined;
  /** From the `Retry-After` header of a 429 or 503. */
  readonly retryAfterSeconds: number | undefined;
  /** The polling interval that comes with `slow_down`. */
  readonly intervalSeconds: number | undefined;
  /** With `store_failed` only. */
  readonly obstacle: StorageObstacle | undefined;
  /** With `wrong_address` only: the address that the server names, if it can be one. */
  readonly namedServer: string | undefined;
  /** The error object of the service, with the members that only some errors have. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(code: LatchkeyErrorCode, message: string, details: ErrorDetails = {}) {
    super(
      message.slice(0, maxMessageLength),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = 'LatchkeyError';
    this.code = code;
    this.status = details.status;
    this.requestId = details.requestId?.slice(0, maxRequestIdLength);
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.intervalSeconds = details.intervalSeconds;
    this.obstacle = details.obstacle;
    this.namedServer = details.namedServer;
    this.body = details.body ?? {};
  }

  /** Whether the same call may succeed later, with nothing lost until then. */
  get retryable(): boolean {
    return retryableCodes.has(this.code);
  }
}

/**
 * Whether this is a `LatchkeyError` with one of these codes.
 * @example
 * if (hasCode(error, 'not_logged_in', 'login_over')) console.error('Sign in first.');
 */
export const hasCode = (error: unknown, ...codes: LatchkeyErrorCode[]): error is LatchkeyError =>
  error instanceof LatchkeyError && codes.includes(error.code);
