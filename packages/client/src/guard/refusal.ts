/** The part of a request that a guard reads. */
export interface GuardedRequest {
  readonly headers: { get(name: string): string | null };
}

/** Why a request is refused. Nothing in it may contain a quote or a backslash: it becomes part of a header. */
export interface Refusal {
  readonly status: 401 | 403 | 503;
  readonly error:
    | 'invalid_token'
    | 'insufficient_scope'
    | 'insufficient_user_authentication'
    | 'temporarily_unavailable';
  /** A sentence for a developer. */
  readonly description: string;
  /** Further parameters of the challenge. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Further headers of the response. */
  readonly headers?: Readonly<Record<string, string>>;
}

const realm = 'Bearer realm="latchkey"';

const challengeOf = ({ error, description, parameters }: Refusal): string =>
  [
    `${realm}, error="${error}", error_description="${description}"`,
    ...Object.entries(parameters ?? {}).map(([name, value]) => `${name}="${value}"`),
  ].join(', ');

/** The request has no bearer token, so its challenge names no error. @see RFC 6750 section 3.1 */
export const missingToken: Refusal = {
  status: 401,
  error: 'invalid_token',
  description: 'This request requires an access token.',
  headers: { 'WWW-Authenticate': realm },
};

/** The same for every reason. @see RFC 6750 section 3.1 */
export const invalidToken: Refusal = {
  status: 401,
  error: 'invalid_token',
  description: 'The access token is malformed, expired or revoked.',
};

/** Not a 401: a client would throw its good token away. */
export const unavailable = (retryAfterSeconds: number): Refusal => ({
  status: 503,
  error: 'temporarily_unavailable',
  description: 'The access token could not be verified. Try again shortly.',
  headers: { 'Retry-After': String(retryAfterSeconds) },
});

/** The refusal as Latchkey itself would send it. The body has a `request_id` if the request had an `X-Request-Id`. */
export function refuse(request: GuardedRequest, refusal: Refusal): Response {
  const { status, error, description, headers } = refusal;
  const requestId = request.headers.get('X-Request-Id') ?? '';
  const body = {
    error,
    error_description: description,
    ...(/^[A-Za-z0-9._-]{1,128}$/.test(requestId) ? { request_id: requestId } : {}),
  };
  return Response.json(body, {
    status,
    headers: {
      'Cache-Control': 'no-store',
      ...(status === 503 ? {} : { 'WWW-Authenticate': challengeOf(refusal) }),
      ...headers,
    },
  });
}
