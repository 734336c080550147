import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { sha256 } from '../crypto/primitives.ts';
import { AuthError, pathNotFound, temporarilyUnavailable } from '../errors.ts';
import { probe } from '../rate-limits/store.ts';
import { isLoopbackHost } from '../values/loopback.ts';
import { errorResponse } from './operations.ts';
import type { Lifecycle, Routes } from './server.ts';
import { serveStaticPath } from './static-path.ts';

/** Serves what load balancers and operators query: liveness, readiness and metrics. */
export function monitoringRoutes(
  routes: Routes,
  ctx: Context,
  lifecycle: Lifecycle,
  { version, countWaitingMails }: { version: string; countWaitingMails: () => Promise<number> },
): void {
  serveStaticPath(routes, {
    id: 'healthz',
    title: 'Check liveness',
    group: 'operations',
    path: '/healthz',
    summary: 'Liveness: whether the process is running',
    type: 'application/json',
    schema: z.object({ status: z.literal('ok').meta({ description: 'Always `ok`.' }) }),
    handler: (exchange) => exchange.json({ status: 'ok' }),
  });

  let checking: Promise<unknown> | undefined;
  /** Fails unless the database can be read and accepts a write. Concurrent requests share a check, since anyone may ask. */
  const checkDatabase = (): Promise<unknown> => {
    checking ??= probe(ctx.db, ctx.clock()).finally(() => {
      checking = undefined;
    });
    return checking;
  };
  serveStaticPath(routes, {
    id: 'readyz',
    title: 'Check readiness',
    group: 'operations',
    path: '/readyz',
    summary: 'Readiness: 503 while the database is unreachable or takes no writes, or the process drains',
    type: 'application/json',
    schema: z.object({ status: z.literal('ready').meta({ description: 'Always `ready`.' }) }),
    handler: async (exchange) => {
      if (lifecycle.draining) throw temporarilyUnavailable(undefined, 'draining');
      await checkDatabase().catch((error: unknown) => {
        throw temporarilyUnavailable(error);
      });
      return exchange.json({ status: 'ready' });
    },
  });

  const { registry, build, mailsWaiting } = ctx.metrics;
  build.set({ version, runtime: `bun ${Bun.version}`, database: ctx.db.dialect }, 1);
  serveStaticPath(routes, {
    id: 'metrics',
    title: 'Read metrics',
    group: 'operations',
    path: '/metrics',
    summary: 'Metrics for the operator (Prometheus text format)',
    type: 'text/plain',
    security: [{}, { metricsToken: [] }],
    responses: { 401: errorResponse(['invalid_token']), 404: errorResponse(['not_found']) },
    handler: async ({ connection, request }) => {
      requireOperator(ctx.config.metricsToken, connection.peer, request);
      mailsWaiting.set(await countWaitingMails().catch(() => Number.NaN));
      return new Response(await registry.metrics(), { headers: { 'Content-Type': registry.contentType } });
    },
  });
}

const isSameToken = (one: string, other: string): boolean =>
  timingSafeEqual(sha256('metrics token', one), sha256('metrics token', other));

/**
 * Requires the metrics token. If none is set, only programs on this machine that use a loopback name may read
 * the metrics. This excludes a proxy on this machine and a web page that uses DNS rebinding.
 * @throws {AuthError} `invalid_token`; `not_found` if no token is set
 */
function requireOperator(token: string | undefined, peer: string | undefined, request: Request): void {
  if (token === undefined) {
    if (peer !== undefined && isLoopbackHost(peer) && isForThisMachine(request)) return;
    throw pathNotFound();
  }
  const presented = /^bearer +(.+)$/i.exec(request.headers.get('Authorization') ?? '')?.[1];
  if (presented !== undefined && isSameToken(presented.trim(), token)) return;
  throw new AuthError('invalid_token', 'The metrics token is missing or wrong.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="metrics"' },
  });
}

const forwardingHeaders = [
  'Forwarded',
  'Via',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Real-IP',
];

/** Whether no proxy forwarded it, and its `Host` is a loopback name, which excludes DNS rebinding. */
export const isForThisMachine = ({ url, headers }: Request): boolean =>
  isLoopbackHost(URL.parse(url)?.hostname ?? '') && !forwardingHeaders.some((name) => headers.has(name));
