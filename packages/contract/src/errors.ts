import { z } from 'zod';
import { described, formPost, model, shown } from './fields.ts';

/**
 * Every error code by its HTTP status, with what it means wherever it occurs. Codes are stable: clients switch on them.
 * @see RFC 6749 section 5.2, RFC 6750 section 3.1, RFC 8628 section 3.5, RFC 8707 section 2, RFC 9396 section 5, RFC 9470
 */
const codesByStatus = {
  400: {
    invalid_request:
      'A field is missing, empty, duplicate, too long or of the wrong type. The description names it.',
    invalid_grant: 'The code, link or token is unknown, malformed, expired, already used or revoked.',
    unknown_credential: 'The passkey is not registered here.',
    authorization_pending: 'The user has not decided yet. Poll again after the interval.',
    slow_down: 'The poll came too early. Wait for the new interval in the response before each poll.',
    access_denied: 'The user denied the request.',
    expired_token: 'The device code has expired. Start again.',
    unsupported_grant_type: 'The grant_type is not supported.',
    unsupported_response_type: 'The response_type is not `code`.',
    confirmation_required:
      'The user has to enter the code that the page shows. Poll again with it after the interval.',
    request_not_supported: 'The parameter `request` is not supported.',
    request_uri_not_supported: 'The parameter `request_uri` is not supported.',
    interaction_required: 'The request needs a page, which `prompt=none` forbids.',
    login_required: 'The signed-in user is not the one that the `id_token_hint` names.',
    invalid_scope: 'A scope is unknown, malformed or wider than allowed here.',
    invalid_target: 'The resource is unknown, malformed or not allowed here.',
    invalid_authorization_details:
      'The authorization_details are malformed, too large or wider than allowed here.',
  },
  401: {
    invalid_client: 'The service key is missing or wrong.',
    invalid_token:
      'The access token is missing, malformed, expired or revoked. Refresh it, or sign in again.',
    insufficient_user_authentication:
      'The sign-in is too old, or did not take place in a browser. The user has to sign in again.',
  },
  403: {
    account_disabled: 'An administrator has disabled the account.',
    signup_disabled: 'There is no account with this address, and new accounts cannot be created here.',
    origin_not_allowed: 'The request came with a cookie from a page of another origin.',
    insufficient_scope: 'The token does not have a scope that this endpoint needs.',
    unauthorized_client: 'The service key does not have a right that this request needs.',
  },
  404: { not_found: 'No such resource, or it belongs to another user.' },
  405: { method_not_allowed: 'The path exists, but not with this method. Allow lists the methods.' },
  409: { conflict: 'The request conflicts with the current state. The description says how.' },
  410: { gone: 'The requested data is no longer available.' },
  412: { precondition_failed: 'A condition failed: If-Match, If-None-Match or Latchkey-User.' },
  413: { payload_too_large: 'The body is larger than 64 KiB.' },
  415: { unsupported_media_type: 'This endpoint does not accept the Content-Type.' },
  429: { rate_limited: 'Too many requests. Wait for the number of seconds in Retry-After.' },
  500: { server_error: 'Internal error. The log has the details under the request id.' },
  503: {
    temporarily_unavailable:
      'The service is starting, stopping or has lost its database. Try again after Retry-After.',
  },
} as const;

type ErrorStatus = keyof typeof codesByStatus;
export type ErrorCode = { [Status in ErrorStatus]: keyof (typeof codesByStatus)[Status] }[ErrorStatus];

export const errorStatus = Object.fromEntries(
  Object.entries(codesByStatus).flatMap(([status, codes]) =>
    Object.keys(codes).map((code) => [code, Number(status)]),
  ),
) as Readonly<Record<ErrorCode, ErrorStatus>>;

/** An endpoint can say more precisely what a code means there. */
export const errorMeanings: Readonly<Record<ErrorCode, string>> = Object.assign(
  {},
  ...Object.values(codesByStatus),
);

/**
 * The body of every 4xx and 5xx response. `interval` (seconds) is only present with `slow_down`, `passkey_required`
 * only with `insufficient_user_authentication`, `redirect` and `form_post` only
 * with errors of authorization requests.
 */
export const errorBody = model('Error', 'RFC 6749 section 5.2', {
  error: described(
    z.enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]]),
    'The error code. Stable: switch on this value.',
    'invalid_request',
  ),
  error_description: shown(
    'What is wrong and what to do, for a developer. The wording may change.',
    'email: must be an email address, like ada@example.com',
  ),
  request_id: shown(
    'The id of the request, as in X-Request-Id. Include it in bug reports.',
    '0b6f2c1e-8d3a-4f57-9a10-5e7c4d2b8f96',
  ),
  interval: described(z.int().optional(), 'Seconds to wait between two polls from now on.', 10),
  passkey_required: described(
    z.literal(true).optional(),
    'With `insufficient_user_authentication`: one of the passkeys of the account has to confirm the operation. Another sign-in is not enough.',
    true,
  ),
  redirect: described(
    z.url().optional(),
    'Where to send the user with this error, if it belongs to the client of an authorization request.',
    'https://grafana.example/login/generic_oauth?error=invalid_scope',
  ),
  form_post: formPost.optional(),
});
export type ErrorBody = z.infer<typeof errorBody>;
