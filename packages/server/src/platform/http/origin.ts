import { userHeader } from '@latchkey/contract/endpoints';
import type { Config } from '../config/config.ts';
import { AuthError } from '../errors.ts';

const isAllowedOrigin = (config: Config, origin: string | null): origin is string =>
  origin !== null && (origin === config.baseUrl || config.allowedOrigins.includes(origin));

/**
 * A cookie counts only in requests that pages of our own made: another site's page can send it, but not with
 * these headers, which the browser writes itself.
 * @throws {AuthError} `origin_not_allowed`
 */
export function requireAllowedOrigin(config: Config, headers: Headers): void {
  if (headers.get('Sec-Fetch-Site') === 'same-origin' || isAllowedOrigin(config, headers.get('Origin')))
    return;
  throw new AuthError('origin_not_allowed', 'Cookies count only in requests from an allowed origin.');
}

/** Whether the browser says that a page of another origin, and of none that is allowed, made the request. */
export function isFromForeignPage(config: Config, headers: Headers): boolean {
  const site = headers.get('Sec-Fetch-Site');
  return site !== null && site !== 'same-origin' && !isAllowedOrigin(config, headers.get('Origin'));
}

const exposedHeaders = 'ETag, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id';
const allowedHeaders = `Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, ${userHeader}, X-Request-Id`;
const preflightSeconds = 600;

/** CORS headers of an answer: for origins on the list only, and never a star. */
export function corsHeaders(config: Config, headers: Headers): Record<string, string> {
  const origin = headers.get('Origin');
  if (!isAllowedOrigin(config, origin)) return {};
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Expose-Headers': exposedHeaders,
  };
}

/** What a preflight from an allowed origin is told about a path; undefined when the request is none. */
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
