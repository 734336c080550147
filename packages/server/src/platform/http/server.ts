import type { Context } from '../context.ts';
import { newSpanId } from '../crypto/random.ts';
import { AuthError, invalidRequest, pathNotFound, temporarilyUnavailable } from '../errors.ts';
import { currentTrace, runInTrace, traceIdIn } from '../telemetry/log.ts';
import { describeError } from '../telemetry/redact.ts';
import { isTrustedPeer } from '../values/client-address.ts';
import { type ConnectionInfo, Exchange } from './exchange.ts';
import { preflightHeaders } from './origin.ts';
import { pathOf, type Route, type Routes } from './routing.ts';

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
 * Handles every request: an id, its route, the common headers, an error object for whatever is thrown, a log line and
 * a count. The response to HEAD has a body, which the server below drops after taking its length. `notFoundPage` may
 * replace the error object of an unknown path.
 */
export function createServer(
  ctx: Context,
  lifecycle: Lifecycle,
  routes: Routes,
  notFoundPage: (request: Request, path: string) => Response | undefined,
): App {
  const warnOfForwarding = watchForwardingHeaders(ctx);

  const handleRequest = async (request: Request, connection: ConnectionInfo): Promise<Response> => {
    const path = pathOf(request);
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

/**
 * Refuses several `Host` headers, which the runtime joins with commas, and one with user information: a proxy may have
 * read another host in it.
 * @see RFC 9112 section 3.2
 */
function requireOneHost(headers: Headers): void {
  if (!/[,@]/.test(headers.get('Host') ?? '')) return;
  throw invalidRequest('The request must have one Host header without user information.');
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

/** The error object for whatever was thrown. An unexpected error is described in the log, never in the response. */
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

/** Any route can fail, or find the database unreachable. */
const failureStatuses = ['500', '503'];

/** Starts the count of every route and documented status at 0, so that a rate over it sees the first failure. */
export function initializeRequestCounts({ metrics }: Context, routes: Routes): void {
  for (const { pattern, method, statuses } of routes.answered())
    metrics.expectRequests(pattern, method, new Set([...statuses, ...failureStatuses]));
}

/** Answers every other method of the paths registered so far: preflights of allowed origins, and 405 for the rest. */
export function rejectOtherMethods(routes: Routes, ctx: Context): void {
  routes.onOtherMethods((allowed) => {
    const methods = allowed.join(', ');
    return (exchange) => {
      const { request } = exchange;
      const preflight =
        request.method === 'OPTIONS'
          ? preflightHeaders(ctx.config, request, pathOf(request), allowed)
          : undefined;
      if (preflight) return exchange.json(undefined, 204, preflight);
      throw new AuthError('method_not_allowed', `This path supports ${methods}.`, {
        headers: { Allow: methods },
      });
    };
  });
}

/** The log gets at most one warning in this time. */
const forwardingWarningIntervalMs = 60 * 60 * 1000;

/**
 * Counts requests with forwarding headers from an untrusted peer, and warns about them. They are the sign of a proxy
 * that is missing from `LATCHKEY_TRUSTED_PROXIES`, behind which all clients share one address.
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
