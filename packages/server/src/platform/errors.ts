import { type ErrorBody, type ErrorCode, errorStatus } from '@latchkey/contract/errors';
import { organizationSlugRule } from '@latchkey/contract/organizations';

type UnavailableDetail = 'client_unavailable' | 'draining' | 'limiter_unavailable' | 'store_unavailable';

/** In one word: a reason that a capability declares, or a rate limit. For the log, never the response. */
export type ErrorDetail = string;

type Members = Pick<ErrorBody, 'interval' | 'passkey_required' | 'redirect' | 'form_post'>;

interface Extra {
  readonly detail?: ErrorDetail | undefined;
  readonly members?: Members;
  readonly headers?: Record<string, string>;
  /** Other than the status of the code. */
  readonly status?: 400 | undefined;
  readonly cause?: unknown;
}

/** Ends a request with an error response. `message` is public: a sentence for developers, without secrets. */
export class AuthError extends Error {
  readonly code: ErrorCode;
  readonly detail: ErrorDetail | undefined;
  readonly members: Members;
  readonly headers: Record<string, string>;
  readonly #status: 400 | undefined;

  constructor(code: ErrorCode, message: string, extra: Extra = {}) {
    // No one reads the stack of an expected error, and capturing it costs more than the rest of a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, { cause: extra.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'AuthError';
    this.code = code;
    this.detail = extra.detail;
    this.members = extra.members ?? {};
    this.headers = extra.headers ?? {};
    this.#status = extra.status;
  }

  get status(): (typeof errorStatus)[ErrorCode] {
    return this.#status ?? errorStatus[this.code];
  }

  withHeaders(headers: Record<string, string>): AuthError {
    return this.#with({ headers: { ...this.headers, ...headers } });
  }

  withMembers(members: Members): AuthError {
    return this.#with({ members: { ...this.members, ...members } });
  }

  /** The same error with status 400. @see RFC 6749 section 5.2 */
  asBadRequest(): AuthError {
    const { 'WWW-Authenticate': _, ...headers } = this.headers;
    return this.#with({ status: 400, headers });
  }

  #with(changes: Extra): AuthError {
    const { code, message, detail, members, headers, cause } = this;
    const extra = { detail, members, headers, cause, status: this.#status };
    return new AuthError(code, message, { ...extra, ...changes });
  }

  toBody(requestId: string): ErrorBody {
    return { error: this.code, error_description: this.message, request_id: requestId, ...this.members };
  }
}

/** Whether a request was refused for what it is, not by a rate limit or a failure of the service. */
export const isRefusal = (error: unknown): error is AuthError =>
  error instanceof AuthError && error.code !== 'rate_limited' && error.status < 500;

/** Throws the refusal that a transaction returned: throwing it inside would undo what it counted. */
export function orThrow<Decided>(decided: Decided | AuthError): Decided {
  if (decided instanceof AuthError) throw decided;
  return decided;
}

/** Refuses a malformed request. @param message begins with the name of what is wrong, if that has one */
export const invalidRequest = (message: string): AuthError => new AuthError('invalid_request', message);

/** Refuses what contradicts the current state. @param message names what to change first */
export const conflict = (message: string): AuthError => new AuthError('conflict', message);

/** Refuses a scope. @param message begins with the name of the parameter */
export const invalidScope = (message: string): AuthError => new AuthError('invalid_scope', message);

/** Refuses a resource or audience. @param message begins with the name of the parameter */
export const invalidTarget = (message: string): AuthError => new AuthError('invalid_target', message);

/** Makes the errors that refuse one kind of grant: the response is the same for every reason. */
export const invalidGrant =
  (message: string) =>
  (detail: ErrorDetail, cause?: unknown): AuthError =>
    new AuthError('invalid_grant', message, { detail, cause });

/** The challenge of every response that refuses a user's credential. @see RFC 6750 section 3 */
export const bearerChallenge = 'Bearer realm="latchkey"';

/** An error whose challenge says the same. `more` is the rest of it. @see RFC 6750 section 3 */
export const challenging = (code: ErrorCode, description: string, more = '', detail?: ErrorDetail) => {
  const challenge = `${bearerChallenge}, error="${code}", error_description="${description}"${more}`;
  return new AuthError(code, description, { detail, headers: { 'WWW-Authenticate': challenge } });
};

/** Refuses a user's credential. The response is the same for every reason. */
export const invalidCredential = (detail: ErrorDetail): AuthError =>
  challenging('invalid_token', 'The access token is malformed, expired or revoked.', '', detail);

/** The credential is valid, but its account has been deleted. */
export const accountGone = (): AuthError => invalidCredential('gone');

/** Only a caller who has proven to own the account learns that it is disabled. */
export const accountDisabled = (): AuthError =>
  new AuthError('account_disabled', 'This account has been disabled.');

export const pathNotFound = (): AuthError => new AuthError('not_found', 'No such path.');

/** The same whether the resource is another user's, was deleted or never existed. */
export const resourceNotFound = (): AuthError => new AuthError('not_found', 'No such resource.');

export const invalidSlug = (): AuthError => invalidRequest(`slug: ${organizationSlugRule}`);

const retryAfterSeconds = 1;

/** The database is unreachable, full or too slow, or the process is draining. Nothing was changed. */
export const temporarilyUnavailable = (cause?: unknown, detail: UnavailableDetail = 'store_unavailable') =>
  new AuthError('temporarily_unavailable', 'The service is temporarily unavailable. Try again shortly.', {
    cause,
    detail,
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });

/** The token is valid but too narrow for this endpoint. @see RFC 6750 section 3.1 */
export const insufficientScope = (needed: string, boundTo: string | null = null): AuthError => {
  const description =
    boundTo === null
      ? `This needs an access token with the scope ${needed}.`
      : 'The access token is bound to another service.';
  return challenging('insufficient_scope', description, `, scope="${needed}"`);
};
