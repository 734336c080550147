import { userHeader } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import type { Config } from '../config/config.ts';
import { AuthError } from '../errors.ts';
import { dialectOf } from './body.ts';

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

const openPaths: ReadonlySet<string> = new Set([
  endpoints.redeemDeviceCode.path,
  endpoints.revoke.path,
  endpoints.getUserinfo.path,
]);

/**
 * Whether pages of every origin may read the response, without credentials: what OAuth clients in browsers need. Only the form of a
 * revocation takes its token from the body.
 */
function isOpenToAll(request: Request, path: string): boolean {
  if (path === endpoints.revoke.path && request.method === 'POST') return dialectOf(request) === 'form';
  return path.startsWith('/.well-known/') || openPaths.has(path);
}

/** The CORS headers of a response: with credentials for allowed origins only. */
export function corsHeaders(config: Config, request: Request, path: string): Record<string, string> {
  const origin = request.headers.get('Origin');
  if (origin === null) return {};
  if (!isAllowedOrigin(config, origin)) {
    if (!isOpenToAll(request, path)) return {};
    return { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': exposedHeaders };
  }
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Expose-Headers': exposedHeaders,
  };
}

/** The headers that answer a preflight from an origin that may call the path; undefined for any other request. */
export function preflightHeaders(
  config: Config,
  request: Request,
  path: string,
  methods: readonly string[],
): Record<string, string> | undefined {
  const { headers } = request;
  const origin = headers.get('Origin');
  if (origin === null || !headers.has('Access-Control-Request-Method')) return undefined;
  const isAllowed = isAllowedOrigin(config, origin);
  if (!isAllowed && !isOpenToAll(request, path)) return undefined;
  return {
    'Access-Control-Allow-Methods': methods.join(', '),
    // Of other origins no credentials come along, so they may send whatever they ask for.
    'Access-Control-Allow-Headers': isAllowed
      ? allowedHeaders
      : (headers.get('Access-Control-Request-Headers') ?? ''),
    'Access-Control-Max-Age': String(preflightSeconds),
  };
}
