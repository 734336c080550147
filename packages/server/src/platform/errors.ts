import { type ErrorBody, type ErrorCode, errorStatus } from '@latchkey/contract/errors';

interface Extra {
  /** For the log only: what happened, in one word. Never a secret. */
  detail?: string;
  /** Further members of the answer. */
  members?: Pick<ErrorBody, 'interval'>;
  /** Further headers of the answer. */
  headers?: Record<string, string>;
  cause?: unknown;
}

/** What ends a request early. `message` is public: a sentence for a developer that holds no secret. */
export class AuthError extends Error {
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly members: Pick<ErrorBody, 'interval'>;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, extra: Extra = {}) {
    super(message, { cause: extra.cause });
    this.name = 'AuthError';
    this.code = code;
    this.detail = extra.detail;
    this.members = extra.members ?? {};
    this.headers = extra.headers ?? {};
  }

  get status(): (typeof errorStatus)[ErrorCode] {
    return errorStatus[this.code];
  }

  toBody(requestId: string): ErrorBody {
    return { error: this.code, error_description: this.message, request_id: requestId, ...this.members };
  }
}

/** What every refusal of a user's credential asks for. @see RFC 6750 section 3 */
export const bearerChallenge = 'Bearer realm="latchkey"';

const refusedDescription = 'The access token is malformed, expired or revoked.';

/** The credential is good for nothing, or its account is gone: the same words for every reason. */
export const invalidCredential = (detail: string): AuthError =>
  new AuthError('invalid_token', refusedDescription, {
    detail,
    headers: {
      'WWW-Authenticate': `${bearerChallenge}, error="invalid_token", error_description="${refusedDescription}"`,
    },
  });

/** The credential is valid, but its account has been deleted. */
export const accountGone = (): AuthError => invalidCredential('gone');

/** Only a caller who has proven to own the account learns that it is disabled. */
export const accountDisabled = (): AuthError =>
  new AuthError('account_disabled', 'This account has been disabled.');

/** A path that names nothing at all. */
export const pathNotFound = (): AuthError => new AuthError('not_found', 'There is nothing here.');

/** A path names nothing of this user: the same words whether it is another's, gone or was never there. */
export const resourceNotFound = (): AuthError => new AuthError('not_found', 'There is no such thing.');

const retryAfterSeconds = 1;

/** The store is out of reach, full or too slow, or the process drains: nothing was changed, try again. */
export const temporarilyUnavailable = (cause?: unknown, detail = 'store_unavailable'): AuthError =>
  new AuthError('temporarily_unavailable', 'The service cannot answer right now. Try again shortly.', {
    cause,
    detail,
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
