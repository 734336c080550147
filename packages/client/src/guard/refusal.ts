/** The part of a request that a guard reads. */
export interface GuardedRequest {
  readonly method?: string | undefined;
  /** May be a path. */
  readonly url?: string | undefined;
  readonly headers: { get(name: string): string | null };
}

/** Whether a browser asks if it may send a request of another origin. @see https://fetch.spec.whatwg.org/#cors-preflight-request */
export const isPreflight = ({ method, headers }: GuardedRequest): boolean =>
  method === 'OPTIONS' && headers.get('Access-Control-Request-Method') !== null;

/** Why a request is refused. Nothing in it may contain a quote or a backslash: it becomes part of a header. */
export interface Refusal {
  readonly status: 401 | 403 | 404 | 503;
  readonly error:
    | 'invalid_token'
    | 'insufficient_scope'
    | 'insufficient_user_authentication'
    | 'not_found'
    | 'temporarily_unavailable';
  /** A sentence for a developer. */
  readonly description: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const challengeOf = (refusal: Refusal, parameters: Readonly<Record<string, string>>): string => {
  const { error, description } = refusal;
  const all = {
    realm: 'latchkey',
    ...(refusal === missingToken ? {} : { error, error_description: description }),
    ...refusal.parameters,
    ...parameters,
  };
  const list = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${list.join(', ')}`;
};

/** The request has no bearer token, so its challenge names no error. @see RFC 6750 section 3.1 */
export const missingToken: Refusal = {
  status: 401,
  error: 'invalid_token',
  description: 'This request requires an access token.',
};

/** The same for every reason. @see RFC 6750 section 3.1 */
export const invalidToken: Refusal = {
  status: 401,
  error: 'invalid_token',
  description: 'The access token is malformed, expired or revoked.',
};

export const notFound: Refusal = { status: 404, error: 'not_found', description: 'There is no such path.' };

/** Not a 401: a client would throw its good token away. */
export const unavailable = (retryAfterSeconds: number): Refusal => ({
  status: 503,
  error: 'temporarily_unavailable',
  description: 'The access token could not be verified. Try again shortly.',
  headers: { 'Retry-After': String(retryAfterSeconds) },
});

/**
 * The refusal as Latchkey itself would send it. The body has a `request_id` if the request had an `X-Request-Id`.
 * @param parameters of every challenge for this resource
 */
export function refuse(
  request: GuardedRequest,
  refusal: Refusal,
  parameters: Readonly<Record<string, string>> = {},
): Response {
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
      ...(status === 401 || status === 403
        ? {
            'WWW-Authenticate': challengeOf(refusal, parameters),
            'Access-Control-Expose-Headers': 'WWW-Authenticate',
          }
        : {}),
      ...headers,
    },
  });
}
