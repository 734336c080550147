import { fieldLimits } from '@latchkey/contract/field-limits';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import { getPath, tryDecode } from 'hono/utils/url';
import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import { newSpanId } from '../crypto/primitives.ts';
import {
  AuthError,
  type ErrorDetail,
  invalidRequest,
  pathNotFound,
  temporarilyUnavailable,
} from '../errors.ts';
import { currentTrace, runInTrace, traceIdIn } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { describeError, redact } from '../telemetry/redact.ts';
import { isTrustedPeer } from '../values/client-address.ts';
import type { ReplyDetail } from './call.ts';
import { type Operation, patternOf } from './operations.ts';
import { corsHeaders, preflightHeaders } from './origin.ts';

/** The state of the process that every request depends on. */
export interface Lifecycle {
  draining: boolean;
  /** Requests that have no response yet. */
  inFlight: number;
}

/** The service as a function from requests to responses. */
export interface App {
  fetch(request: Request, connection: ConnectionInfo): Promise<Response>;
}

/** Paths that answer while the process drains: they report that it does. */
const probePaths = new Set(['/healthz', '/readyz']);

/**
 * Handles every request: an id, its route, the common headers, an error object for whatever is thrown, a log
 * line and a count. The server below drops the body of a response to HEAD.
 */
export function createServer(
  ctx: Context,
  lifecycle: Lifecycle,
  routes: Routes,
  notFoundPage: (request: Request, path: string) => Response | undefined,
): App {
  const warnOfForwarding = watchForwardingHeaders(ctx);

  const handleRequest = async (request: Request, connection: ConnectionInfo): Promise<Response> => {
    const path = getPath(request);
    const exchange = new Exchange(request, connection, ctx, path);
    const route = routes.find(request.method, path);
    let response: Response;
    try {
      requireOneHost(request.headers);
      warnOfForwarding(connection, request.headers);
      if (route?.params) exchange.params = route.params;
      if (lifecycle.draining && !probePaths.has(path))
        throw temporarilyUnavailable(undefined, 'draining').withHeaders({ Connection: 'close' });
      response = exchange.withCommonHeaders(route ? await route.handler(exchange) : notFound(exchange, path));
    } catch (error) {
      response = errorResponse(ctx, exchange, error);
    }
    record(ctx, exchange, route, response.status, ctx.timers.monotonic() - exchange.arrivedAt);
    return response;
  };

  const notFound = (exchange: Exchange, path: string): Response => {
    const page = notFoundPage(exchange.request, path);
    if (!page) throw pathNotFound();
    exchange.outcome = 'not_found';
    return page;
  };

  const fetch = async (request: Request, connection: ConnectionInfo): Promise<Response> => {
    lifecycle.inFlight += 1;
    try {
      const traceId = traceIdIn(request.headers.get('traceparent'));
      if (traceId === undefined) return await handleRequest(request, connection);
      const trace = { traceId, spanId: newSpanId(ctx.random) };
      return await runInTrace(trace, () => handleRequest(request, connection));
    } finally {
      lifecycle.inFlight -= 1;
    }
  };
  return { fetch };
}

/** A host and a port. @see RFC 9110 section 7.2 */
const host = /^(?:[\w.~%-]*|\[[\da-f:.]+\])(?::\d{0,5})?$/i;

/**
 * Refuses several `Host` headers, which the runtime joins with commas, and one that is more than a host and a port: a proxy
 * may have read a different host in it.
 * @see RFC 9112 section 3.2
 */
function requireOneHost(headers: Headers): void {
  if (host.test(headers.get('Host') ?? '')) return;
  throw invalidRequest('The request must have one Host header with a host and no user information.');
}

/** Writes the log line of a request and counts it. */
function record(
  { metrics, log }: Context,
  { request: { method }, loggedId, outcome, detail }: Exchange,
  route: Route | undefined,
  status: number,
  durationMs: number,
): void {
  const pattern = route?.pattern ?? 'unknown';
  metrics.countRequest(pattern, method, status, durationMs / 1000);
  log.request(route?.isPolled && status < 400 ? 'debug' : 'info', {
    request_id: loggedId,
    method,
    route: pattern,
    status,
    outcome,
    detail,
    duration_ms: Math.round(durationMs * 1000) / 1000,
    ...traceFields(),
  });
}

const traceFields = () => ({ trace_id: currentTrace()?.traceId, span_id: currentTrace()?.spanId });

/** The error object for what was thrown. The log describes unexpected errors, the response never does. */
function errorResponse(ctx: Context, exchange: Exchange, thrown: unknown): Response {
  const isExpected = thrown instanceof AuthError;
  const error = isExpected ? thrown : unexpected;
  const logged = (cause: unknown) => ({
    request_id: exchange.loggedId,
    ...traceFields(),
    error: describeError(cause),
  });
  if (!isExpected) ctx.log.error(logged(thrown), 'unexpected error');
  else if (error.status >= 500) ctx.log.warn(logged(error.cause), error.code);
  return exchange.refuse(error);
}

const unexpected = new AuthError('server_error', 'Something went wrong on our side.');

/** The log gets at most one warning in this time. */
const forwardingWarningIntervalMs = 60 * 60 * 1000;

/**
 * Counts requests with forwarding headers from an untrusted peer, and warns about them. They are the sign of
 * a proxy that is missing from `LATCHKEY_TRUSTED_PROXIES`, behind which all clients share one address.
 */
function watchForwardingHeaders(ctx: Context): (connection: ConnectionInfo, headers: Headers) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (connection, headers) => {
    if (!headers.has('X-Forwarded-For') && !headers.has('Forwarded')) return;
    const { peer } = connection;
    if (isTrustedPeer(peer, ctx.config.trustedProxies)) return;
    ctx.metrics.untrustedForwards.inc();
    const now = ctx.clock();
    if (now - warnedAt < forwardingWarningIntervalMs) return;
    warnedAt = now;
    ctx.log.warn(
      { peer: peer ?? null },
      'ignored forwarding headers from a peer that LATCHKEY_TRUSTED_PROXIES does not name',
    );
  };
}

/** The connection that a request came in on. */
export interface ConnectionInfo {
  /**
   * The peer address reported by the socket. Undefined once the client has disconnected, so read it before
   * the first wait. Reading it costs as much as a database look-up.
   */
  readonly peer: string | undefined;
}

const requestIdPattern = new RegExp(`^[A-Za-z0-9._-]{1,${fieldLimits.requestId}}$`);

const commonHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Origin',
};
// Copied for each response: that costs half as much as making headers from an object.
const emptyHeaders = new Headers(commonHeaders);
const jsonHeaders = new Headers({ ...commonHeaders, 'Content-Type': 'application/json' });

const hstsMaxAgeSeconds = 63_072_000;

/** One HTTP request, the response being built for it, and what the log will say about it. */
export class Exchange {
  readonly request: Request;
  readonly connection: ConnectionInfo;
  /** From the client's `X-Request-Id` if that is well-formed, otherwise a new one. */
  readonly requestId: string;
  /** The same for the log, which never shows a credential that a client sent in its place. */
  readonly loggedId: string;
  /** In milliseconds of this process's monotonic clock. */
  readonly arrivedAt: number;
  params: Readonly<Record<string, string>> = {};
  outcome = 'ok';
  detail: ErrorDetail | ReplyDetail | undefined;
  /** Takes the place of the error object. */
  errorPage: ((error: AuthError) => Response) | undefined;
  readonly #cors: Readonly<Record<string, string>> | undefined;
  readonly #https: boolean;
  #hasCommonHeaders = false;

  constructor(
    request: Request,
    connection: ConnectionInfo,
    { config, timers }: Pick<Context, 'config' | 'timers'>,
    path: string,
  ) {
    this.arrivedAt = timers.monotonic();
    this.request = request;
    this.connection = connection;
    const sent = request.headers.get('X-Request-Id');
    const isWellFormed = sent !== null && requestIdPattern.test(sent);
    this.requestId = isWellFormed ? sent : crypto.randomUUID();
    this.loggedId = isWellFormed ? redact(sent) : this.requestId;
    const origin = request.headers.get('Origin');
    this.#cors = origin === null ? undefined : corsHeaders(config, request, path, origin);
    this.#https = config.https;
  }

  /** A JSON response, or one without a body if `body` is undefined. */
  json(body: unknown, status = 200, headers?: Readonly<Record<string, string>>): Response {
    const response =
      body === undefined
        ? new Response(null, { status, headers: emptyHeaders })
        : new Response(JSON.stringify(body), { status, headers: jsonHeaders });
    for (const name in headers) response.headers.set(name, headers[name]!);
    this.#hasCommonHeaders = true;
    return this.#withOwnHeaders(response);
  }

  /** The error object of a refused request, or the page that takes its place. */
  refuse(error: AuthError): Response {
    this.outcome = error.code;
    this.detail = error.detail;
    if (!this.errorPage) return this.json(error.toBody(this.requestId), error.status, error.headers);
    const page = this.withCommonHeaders(this.errorPage(error));
    for (const name in error.headers) page.headers.set(name, error.headers[name]!);
    return page;
  }

  /** Adds the headers of every response, unless the response already has its own. */
  withCommonHeaders(response: Response): Response {
    if (this.#hasCommonHeaders) return response;
    for (const [name, value] of Object.entries(commonHeaders))
      if (!response.headers.has(name)) response.headers.set(name, value);
    return this.#withOwnHeaders(response);
  }

  #withOwnHeaders(response: Response): Response {
    response.headers.set('X-Request-Id', this.requestId);
    if (this.#https) response.headers.set('Strict-Transport-Security', `max-age=${hstsMaxAgeSeconds}`);
    for (const name in this.#cors) response.headers.set(name, this.#cors[name]!);
    return response;
  }
}

export type Handler = (exchange: Exchange) => Response | Promise<Response>;

export interface Route {
  /** The path with the names of its parameters: the route's name in the log and the metrics. */
  readonly pattern: string;
  readonly handler: Handler;
  readonly isPolled?: boolean | undefined;
  readonly params?: Readonly<Record<string, string>>;
}

/** The entry of a path for all methods without one of their own. */
const otherMethods = 'ALL';

/** Any route can fail, or find the database unreachable. */
const failureStatuses = ['500', '503'];

/**
 * The route table, with the description of each operation. It uses Hono's router without Hono's contexts,
 * which cost as much as everything else around a handler together. A path without parameters is never taken
 * for the value of a parameter, whatever the method (GET /users/lookup is not GET /users/:user_id): such
 * paths are in a table of their own.
 */
export class Routes {
  readonly #literal = new Map<string, Map<string, Route>>();
  readonly #router = new RegExpRouter<Route>();
  readonly #methods = new Map<string, Set<string>>();
  /** What the API document describes. */
  readonly operations: Operation[] = [];

  /** Adds a handler. Path parameters are written `:name`. The first route that matches wins. */
  on(method: string, pattern: string, handler: Handler, more?: Pick<Route, 'isPolled'>): void {
    this.#add(method, { pattern, handler, ...more });
    const known = this.#methods.get(pattern) ?? new Set();
    this.#methods.set(pattern, known.add(method));
    if (method === 'GET') known.add('HEAD');
  }

  #add(method: string, route: Route): void {
    const { pattern } = route;
    if (/[:*]/.test(pattern)) {
      this.#router.add(method, pattern, route);
      return;
    }
    const routes = this.#literal.get(pattern) ?? new Map<string, Route>();
    if (!routes.has(method)) this.#literal.set(pattern, routes.set(method, route));
  }

  /** Adds a handler for GET and HEAD. */
  get(pattern: string, handler: Handler): void {
    this.on('GET', pattern, handler);
  }

  /** Answers all other methods of the paths so far: preflights of allowed origins, and 405 for the rest. */
  rejectOtherMethods(config: Config): void {
    for (const [pattern, known] of this.#methods) {
      const methods = [...known].join(', ');
      const handler: Handler = (exchange) => {
        const { request } = exchange;
        const preflight = preflightHeaders(config, request, getPath(request), methods);
        if (preflight) return exchange.json(undefined, 204, preflight);
        throw new AuthError('method_not_allowed', `This path supports ${methods}.`, {
          headers: { Allow: methods },
        });
      };
      this.#add(otherMethods, { pattern, handler });
    }
  }

  /** Starts the count of every route and documented status at 0, so that a rate sees the first failure. */
  initializeCounts({ expectRequests }: Metrics): void {
    const described = new Map<string, string[]>();
    for (const { method, path, responses } of this.operations)
      described.set(`${method.toUpperCase()} ${patternOf(path)}`, Object.keys(responses));
    for (const [pattern, known] of this.#methods) {
      for (const method of known) {
        const statuses = described.get(`${method === 'HEAD' ? 'GET' : method} ${pattern}`) ?? ['200'];
        expectRequests(pattern, method, new Set([...statuses, ...failureStatuses]));
      }
    }
  }

  /** Finds the route of a request. HEAD uses the route of GET. */
  find(requestMethod: string, path: string): Route | undefined {
    const method = requestMethod === 'HEAD' ? 'GET' : requestMethod;
    const literal = this.#literal.get(path);
    if (literal) return literal.get(method) ?? literal.get(otherMethods);
    const [[first], matched] = this.#router.match(method, path);
    if (!first) return undefined;
    const [route, indexes] = first;
    return matched?.length
      ? { ...route, params: paramsOf(indexes as Record<string, number>, matched) }
      : route;
  }
}

function paramsOf(indexes: Readonly<Record<string, number>>, matched: readonly string[]) {
  const params: Record<string, string> = {};
  for (const name in indexes) params[name] = tryDecode(matched[indexes[name]!]!, decodeURIComponent);
  return params;
}
