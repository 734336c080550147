import { timingSafeEqual } from 'node:crypto';
import type { Context } from '../context.ts';
import { sha256 } from '../crypto/hash.ts';
import { AuthError, pathNotFound } from '../errors.ts';
import { isLoopbackHost } from '../values/loopback.ts';
import { documentStaticPath } from './documents.ts';
import { isForThisMachine } from './local-request.ts';
import { errorAnswer } from './openapi.ts';
import type { Routes } from './routing.ts';

const same = (one: string, other: string): boolean =>
  timingSafeEqual(sha256('metrics token', one), sha256('metrics token', other));

/**
 * Lets in who presents the token of the settings. Without one, programs on this machine may read by one of its
 * loopback names: no proxy on it, and no web page under a name of its own.
 * @throws {AuthError} `invalid_token`; `not_found` where no token would help
 */
function requireOperator(token: string | undefined, peer: string | undefined, request: Request): void {
  if (token === undefined) {
    if (peer !== undefined && isLoopbackHost(peer) && isForThisMachine(request)) return;
    throw pathNotFound();
  }
  const given = /^bearer +(.+)$/i.exec(request.headers.get('Authorization') ?? '')?.[1];
  if (given !== undefined && same(given.trim(), token)) return;
  throw new AuthError('invalid_token', 'The token of the metrics is needed.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="metrics"' },
  });
}

/** What the process counts, in the text format of Prometheus. */
export function metricsRoute(
  routes: Routes,
  ctx: Context,
  { version, countWaitingMails }: { version: string; countWaitingMails: () => Promise<number> },
): void {
  const { registry, build, mailsWaiting } = ctx.metrics;
  build.set({ version, runtime: `bun ${Bun.version}`, database: ctx.db.dialect }, 1);
  documentStaticPath(routes, {
    id: 'metrics',
    path: '/metrics',
    summary: 'What the process counts, for its operator (Prometheus)',
    type: 'text/plain',
    security: [[], ['metricsToken']],
    responses: { 401: errorAnswer(['invalid_token']), 404: errorAnswer(['not_found']) },
  });
  routes.get('/metrics', async ({ env, request }) => {
    requireOperator(ctx.config.metricsToken, env.peer, request);
    mailsWaiting.set(await countWaitingMails().catch(() => Number.NaN));
    return new Response(await registry.metrics(), { headers: { 'Content-Type': registry.contentType } });
  });
}
