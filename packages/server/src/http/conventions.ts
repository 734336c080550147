import { limits } from '@latchkey/contract/limits';
import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import type { Context } from '../context.ts';
import { AuthError, temporarilyUnavailable } from '../errors.ts';
import { type App, dressed, type RequestEnv } from './api.ts';
import { forwardingWatch } from './forwarding.ts';
import { describeError, redact } from './log.ts';
import { corsHeaders, preflightHeaders } from './origin.ts';

const requestIdPattern = new RegExp(`^[A-Za-z0-9._-]{1,${limits.requestId}}$`);

/** The state of the process that every request depends on. */
export interface Lifecycle {
  draining: boolean;
}

/** Paths that answer also while the process drains: they tell that it does. */
const probes = new Set(['/healthz', '/readyz']);

/** What every request gets: an id, a line in the log, and the headers of the contract. */
export function surround(ctx: Context, lifecycle: Lifecycle): MiddlewareHandler<RequestEnv> {
  const noteForwarding = forwardingWatch(ctx);
  return async (c, next) => {
    const started = performance.now();
    noteForwarding(c.env.peer, c.req.raw.headers);
    const given = c.req.header('X-Request-Id');
    const requestId = given && requestIdPattern.test(given) ? given : crypto.randomUUID();
    c.set('requestId', requestId);
    const headers = {
      'X-Request-Id': requestId,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Vary: 'Origin',
      ...corsHeaders(ctx.config, c.req.raw.headers),
    };
    c.set('headers', headers);

    if (lifecycle.draining && !probes.has(c.req.path)) {
      c.res = answerError(c, draining());
    } else {
      await next();
    }
    if (!c.get('dressed')) {
      for (const [name, value] of Object.entries(headers))
        if (!c.res.headers.has(name)) c.res.headers.set(name, value);
    }

    const pattern = routePath(c, -1);
    const route = pattern === '*' || pattern === '/*' ? 'unknown' : pattern;
    const durationMs = performance.now() - started;
    ctx.metrics.countRequest(route, c.req.method, c.res.status, durationMs / 1000);
    ctx.log.info(
      {
        request_id: redact(requestId),
        method: c.req.method,
        route,
        status: c.res.status,
        outcome: c.get('outcome') ?? 'ok',
        detail: c.get('detail'),
        duration_ms: Math.round(durationMs * 1000) / 1000,
      },
      'request',
    );
  };
}

type HonoContext = Parameters<MiddlewareHandler<RequestEnv>>[0];

function answerError(c: HonoContext, error: AuthError): Response {
  c.set('outcome', error.code);
  c.set('detail', error.detail);
  return dressed(c, error.toBody(c.get('requestId')), error.status, error.headers);
}

const draining = (): AuthError => {
  const error = temporarilyUnavailable(undefined, 'draining');
  return new AuthError(error.code, error.message, {
    detail: 'draining',
    headers: { ...error.headers, Connection: 'close' },
  });
};

const notFound = () => new AuthError('not_found', 'There is nothing here.');

/** One shape for every error, whatever threw it. What nobody expected is told in the log, never in the answer. */
export function answerErrors(app: App, ctx: Context): void {
  app.notFound((c) => answerError(c, notFound()));
  app.onError((error, c) => {
    if (error instanceof AuthError) {
      if (error.status >= 500) {
        ctx.log.warn(
          { request_id: redact(c.get('requestId')), error: describeError(error.cause) },
          error.code,
        );
      }
      return answerError(c, error);
    }
    ctx.log.error(
      { request_id: redact(c.get('requestId')), error: describeError(error) },
      'unexpected error',
    );
    return answerError(c, new AuthError('server_error', 'Something went wrong on our side.'));
  });
}

/** Answers every other method of the paths that the app knows by now, preflights of allowed origins included. */
export function refuseOtherMethods(app: App, ctx: Context): void {
  const methods = new Map<string, Set<string>>();
  for (const { path, method } of app.routes) {
    if (method === 'ALL') continue;
    const known = methods.get(path) ?? new Set();
    known.add(method);
    if (method === 'GET') known.add('HEAD');
    methods.set(path, known);
  }
  for (const [path, known] of methods) {
    const allowed = [...known];
    app.all(path, (c) => {
      const preflight =
        c.req.method === 'OPTIONS' ? preflightHeaders(ctx.config, c.req.raw.headers, allowed) : undefined;
      if (preflight) return c.body(null, 204, preflight);
      throw new AuthError('method_not_allowed', `This path takes ${allowed.join(', ')}.`, {
        headers: { Allow: allowed.join(', ') },
      });
    });
  }
}
