import { z } from 'zod';

/**
 * Every error code and its HTTP status. Codes are stable: clients switch on them.
 * @see RFC 6749 section 5.2, RFC 6750 section 3.1, RFC 8628 section 3.5, RFC 8707 section 2, RFC 9396 section 5, RFC 9470
 */
export const errorStatus = {
  invalid_request: 400,
  invalid_grant: 400,
  unknown_credential: 400,
  authorization_pending: 400,
  slow_down: 400,
  access_denied: 400,
  expired_token: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  invalid_target: 400,
  invalid_authorization_details: 400,
  invalid_client: 401,
  invalid_token: 401,
  insufficient_user_authentication: 401,
  account_disabled: 403,
  signup_disabled: 403,
  origin_not_allowed: 403,
  insufficient_scope: 403,
  unauthorized_client: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  gone: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  server_error: 500,
  temporarily_unavailable: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** The body of every 4xx and 5xx response. `interval` (seconds) is only present with `slow_down`. */
export const errorBody = z
  .object({
    error: z.enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]]),
    error_description: z.string(),
    request_id: z.string(),
    interval: z.int().optional(),
  })
  .meta({ id: 'Error', description: 'RFC 6749 section 5.2' });
export type ErrorBody = z.infer<typeof errorBody>;
