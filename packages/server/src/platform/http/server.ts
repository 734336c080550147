import type { Context } from '../context.ts';
import { AuthError, pathNotFound, temporarilyUnavailable } from '../errors.ts';
import { logRequest } from '../telemetry/log.ts';
import { describeError, redact } from '../telemetry/redact.ts';
import { type ConnectionInfo, Exchange } from './exchange.ts';
import { watchForwardingHeaders } from './forwarding.ts';
import { preflightHeaders } from './origin.ts';
import { pathOf, type Routes } from './routing.ts';

/** The state of the process that every request depends on. */
export interface Lifecycle {
  draining: boolean;
  /** Requests that have no answer yet. */
  inFlight: number;
}

/** Answers requests: everything that is reached over HTTP. */
export interface App {
  fetch(request: Request, env: ConnectionInfo): Promise<Response>;
}

/** Paths that answer also while the process drains: they tell that it does. */
const probes = new Set(['/healthz', '/readyz']);

/**
 * The way of every request: an id, its handler, the headers of the contract, a line in the log, a count. What answers
 * HEAD still has a body: the server below takes it away and keeps its length. `notFoundPage` may answer an unknown
 * path in place of the error object.
 */
export function createServer(
  ctx: Context,
  lifecycle: Lifecycle,
  routes: Routes,
  notFoundPage: (request: Request, path: string) => Response | undefined,
): App {
  const noteForwarding = watchForwardingHeaders(ctx);

  const answer = async (request: Request, env: ConnectionInfo): Promise<Response> => {
    const started = performance.now();
    const { method } = request;
    const path = pathOf(request);
    const exchange = new Exchange(request, env, ctx.config);
    const route = routes.find(method, path);
    let response: Response;
    try {
      noteForwarding(env, request.headers);
      if (lifecycle.draining && !probes.has(path)) throw draining();
      if (route) {
        if (route.params) exchange.params = route.params;
        response = exchange.withCommonHeaders(await route.handler(exchange));
      } else {
        const page = notFoundPage(request, path);
        if (!page) throw pathNotFound();
        exchange.outcome = 'not_found';
        response = exchange.withCommonHeaders(page);
      }
    } catch (error) {
      response = answerError(ctx, exchange, error);
    }

    const pattern = route?.pattern ?? 'unknown';
    const durationMs = performance.now() - started;
    ctx.metrics.countRequest(pattern, method, response.status, durationMs / 1000);
    logRequest(ctx.log, {
      request_id: redact(exchange.requestId),
      method,
      route: pattern,
      status: response.status,
      outcome: exchange.outcome,
      detail: exchange.detail,
      duration_ms: Math.round(durationMs * 1000) / 1000,
    });
    return response;
  };

  const fetch = async (request: Request, env: ConnectionInfo): Promise<Response> => {
    lifecycle.inFlight += 1;
    try {
      return await answer(request, env);
    } finally {
      lifecycle.inFlight -= 1;
    }
  };
  return { fetch };
}

/** One shape for every error, whatever threw it. What nobody expected is told in the log, never in the answer. */
function answerError(ctx: Context, exchange: Exchange, error: unknown): Response {
  const known = error instanceof AuthError;
  const { code, detail, status, headers, cause } = known ? error : unexpected;
  const body = (known ? error : unexpected).toBody(exchange.requestId);
  const told = (what: unknown) => ({ request_id: redact(exchange.requestId), error: describeError(what) });
  if (!known) ctx.log.error(told(error), 'unexpected error');
  else if (status >= 500) ctx.log.warn(told(cause), code);
  exchange.outcome = code;
  exchange.detail = detail;
  return exchange.json(body, status, headers);
}

const unexpected = new AuthError('server_error', 'Something went wrong on our side.');

const draining = (): AuthError => {
  const error = temporarilyUnavailable(undefined, 'draining');
  return new AuthError(error.code, error.message, {
    detail: 'draining',
    headers: { ...error.headers, Connection: 'close' },
  });
};

/** Whatever is asked for, the process may fail, or be without its store. */
const failures = ['500', '503'];

/** Starts the counts of all that was registered, so that the first failure of a route is seen as a change. */
export function countFromTheStart({ metrics }: Context, routes: Routes): void {
  for (const { pattern, method, statuses } of routes.answered())
    metrics.expectRequests(pattern, method, new Set([...statuses, ...failures]));
}

/** Answers every other method of the paths that are known by now, preflights of allowed origins included. */
export function refuseOtherMethods(routes: Routes, ctx: Context): void {
  routes.onOtherMethods((allowed) => {
    const methods = allowed.join(', ');
    return (exchange) => {
      const { method, headers } = exchange.request;
      const preflight = method === 'OPTIONS' ? preflightHeaders(ctx.config, headers, allowed) : undefined;
      if (preflight) return exchange.json(undefined, 204, preflight);
      throw new AuthError('method_not_allowed', `This path takes ${methods}.`, {
        headers: { Allow: methods },
      });
    };
  });
}
