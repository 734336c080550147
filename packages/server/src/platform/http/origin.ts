import { pageHeader, userHeader } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import type { Config } from '../config/config.ts';
import { AuthError } from '../errors.ts';
import { dialectOf } from './body.ts';

const isAllowedOrigin = (config: Config, origin: string | null): origin is string =>
  origin !== null && (origin === config.baseUrl || config.allowedOrigins.includes(origin));

/**
 * Which page made a request, according to the browser; undefined if nothing says so, as in programs.
 * Over plain http to another host, and in older versions of Safari, our own pages send neither
 * `Sec-Fetch-Site` nor `Origin`. They then send a header that a preflight refuses to pages of other origins.
 */
function originOf(config: Config, headers: Headers): 'own' | 'allowed' | 'foreign' | undefined {
  const site = headers.get('Sec-Fetch-Site');
  const origin = headers.get('Origin');
  if (site === 'same-origin' || origin === config.baseUrl) return 'own';
  if (isAllowedOrigin(config, origin)) return 'allowed';
  if (site !== null || origin !== null) return 'foreign';
  return headers.get(pageHeader.name) === pageHeader.value ? 'own' : undefined;
}

/**
 * Requires that a page of this service, or with `allowed` also one of an allowed origin, sent the request.
 * Other pages can make the browser send the cookie, but cannot forge where the request comes from.
 * @throws {AuthError} `origin_not_allowed`
 */
export function requirePage(config: Config, headers: Headers, of: 'own' | 'allowed'): void {
  const origin = originOf(config, headers);
  if (origin === 'own' || origin === of) return;
  const pages =
    of === 'own' ? 'here only from pages of this service' : 'only from pages of an allowed origin';
  throw new AuthError('origin_not_allowed', `Cookies are accepted ${pages}.`);
}

/** Whether, according to the browser, a page of an origin that is not allowed made the request. */
export const isFromForeignPage = (config: Config, headers: Headers): boolean =>
  originOf(config, headers) === 'foreign';

const exposedHeaders =
  'ETag, Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id';
const allowedHeaders = `Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, ${userHeader}, Prefer, X-Request-Id`;
const preflightSeconds = 600;

const openPaths: ReadonlySet<string> = new Set([
  endpoints.issueToken.path,
  endpoints.revoke.path,
  endpoints.getUserinfo.path,
]);

/**
 * Whether pages of every origin may read the response, without credentials, as OAuth clients in browsers
 * need. A revocation qualifies only as a form, because only the form takes its token from the body.
 */
function isOpenToAll(request: Request, path: string): boolean {
  if (path === endpoints.revoke.path && request.method === 'POST') return dialectOf(request) === 'form';
  return path.startsWith('/.well-known/') || openPaths.has(path);
}

/** The CORS headers of a response to a page of this origin: with credentials for allowed origins only. */
export function corsHeaders(config: Config, request: Request, path: string, origin: string) {
  const isAllowed = isAllowedOrigin(config, origin);
  if (!isAllowed && !isOpenToAll(request, path)) return {};
  return {
    'Access-Control-Allow-Origin': isAllowed ? origin : '*',
    ...(isAllowed ? { 'Access-Control-Allow-Credentials': 'true' } : {}),
    'Access-Control-Expose-Headers': exposedHeaders,
  };
}

/** The headers for a preflight from an origin that may call the path; undefined for any other request. */
export function preflightHeaders(config: Config, request: Request, path: string, methods: string) {
  const { headers, method } = request;
  const origin = headers.get('Origin');
  if (method !== 'OPTIONS' || origin === null || !headers.has('Access-Control-Request-Method'))
    return undefined;
  const isAllowed = isAllowedOrigin(config, origin);
  if (!isAllowed && !isOpenToAll(request, path)) return undefined;
  return {
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': isAllowed ? allowedHeaders : requestedHeaders(headers),
    'Access-Control-Max-Age': String(preflightSeconds),
  };
}

/** Requests from other origins carry no credentials, so they may send all headers but that of our pages. */
const requestedHeaders = (headers: Headers): string =>
  (headers.get('Access-Control-Request-Headers') ?? '')
    .split(',')
    .filter((name) => name.trim().toLowerCase() !== pageHeader.name.toLowerCase())
    .join(',');
