import { userHeader } from '@latchkey/contract/endpoint';
import type { Config } from '../config/config.ts';
import { AuthError } from '../errors.ts';

const isAllowedOrigin = (config: Config, origin: string | null): origin is string =>
  origin !== null && (origin === config.baseUrl || config.allowedOrigins.includes(origin));

/**
 * Requires that a page of this service, or of an allowed origin, made the request. Another site's page can send the
 * cookie, but only the browser writes these headers.
 * @throws {AuthError} `origin_not_allowed`
 */
export function requireAllowedOrigin(config: Config, headers: Headers): void {
  if (headers.get('Sec-Fetch-Site') === 'same-origin' || isAllowedOrigin(config, headers.get('Origin')))
    return;
  throw new AuthError('origin_not_allowed', 'Cookies are accepted only from pages of an allowed origin.');
}

/**
 * Requires that a page of this service made the request.
 * @throws {AuthError} `origin_not_allowed`
 */
export function requireOwnOrigin(config: Config, headers: Headers): void {
  if (headers.get('Sec-Fetch-Site') === 'same-origin' || headers.get('Origin') === config.baseUrl) return;
  throw new AuthError('origin_not_allowed', 'Cookies are accepted here only from pages of this service.');
}

/** Whether, according to the browser, a page of an origin that is not allowed made the request. */
export function isFromForeignPage(config: Config, headers: Headers): boolean {
  const site = headers.get('Sec-Fetch-Site');
  return site !== null && site !== 'same-origin' && !isAllowedOrigin(config, headers.get('Origin'));
}

const exposedHeaders =
  'ETag, Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id';
const allowedHeaders = `Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, ${userHeader}, Prefer, X-Request-Id`;
const preflightSeconds = 600;

/** The CORS headers of a response: for allowed origins only, never a wildcard. */
export function corsHeaders(config: Config, headers: Headers): Record<string, string> {
  const origin = headers.get('Origin');
  if (!isAllowedOrigin(config, origin)) return {};
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Expose-Headers': exposedHeaders,
  };
}

/** The headers that answer a preflight from an allowed origin; undefined for any other request. */
export function preflightHeaders(
  config: Config,
  headers: Headers,
  methods: readonly string[],
): Record<string, string> | undefined {
  if (!headers.has('Access-Control-Request-Method') || !isAllowedOrigin(config, headers.get('Origin'))) {
    return undefined;
  }
  return {
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': allowedHeaders,
    'Access-Control-Max-Age': String(preflightSeconds),
  };
}
