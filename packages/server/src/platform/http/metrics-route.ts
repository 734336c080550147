import { timingSafeEqual } from 'node:crypto';
import type { Context } from '../context.ts';
import { sha256 } from '../crypto/hash.ts';
import { AuthError, pathNotFound } from '../errors.ts';
import { isLoopbackHost } from '../values/loopback.ts';
import { isForThisMachine } from './local-request.ts';
import { errorResponse } from './operations.ts';
import type { Routes } from './routing.ts';
import { serveStaticPath } from './static-path.ts';

const isSameToken = (one: string, other: string): boolean =>
  timingSafeEqual(sha256('metrics token', one), sha256('metrics token', other));

/**
 * Requires the metrics token. If none is set, only programs on this machine that use a loopback name may read the
 * metrics: not a proxy on this machine, and not a web page through DNS rebinding.
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

export function metricsRoute(
  routes: Routes,
  ctx: Context,
  { version, countWaitingMails }: { version: string; countWaitingMails: () => Promise<number> },
): void {
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
