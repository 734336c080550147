import { z } from 'zod';
import type { Context } from '../context.ts';
import { probe } from '../database/probe.ts';
import { temporarilyUnavailable } from '../errors.ts';
import type { Routes } from './routing.ts';
import type { Lifecycle } from './server.ts';
import { serveStaticPath } from './static-path.ts';

/** Health checks for load balancers. */
export function healthRoutes(routes: Routes, ctx: Context, lifecycle: Lifecycle): void {
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

  serveStaticPath(routes, {
    id: 'readyz',
    title: 'Check readiness',
    group: 'operations',
    path: '/readyz',
    summary: 'Readiness: 503 while the database is unreachable or the process drains',
    type: 'application/json',
    schema: z.object({ status: z.literal('ready').meta({ description: 'Always `ready`.' }) }),
    handler: async (exchange) => {
      if (lifecycle.draining) throw temporarilyUnavailable(undefined, 'draining');
      await probe(ctx.db.read, {}).catch((error: unknown) => {
        throw temporarilyUnavailable(error);
      });
      return exchange.json({ status: 'ready' });
    },
  });
}
