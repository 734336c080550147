import { z } from 'zod';
import type { Context } from '../context.ts';
import { probe } from '../database/probe.ts';
import { temporarilyUnavailable } from '../errors.ts';
import { probeWrite } from '../rate-limits/store.ts';
import type { Routes } from './routing.ts';
import type { Lifecycle } from './server.ts';
import { serveStaticPath } from './static-path.ts';

/**
 * Returns what checks whether the database can be read and takes writes; it fails if not. Anyone may ask, and each check writes, so
 * requests at the same time share one.
 */
function databaseCheck({ db, clock }: Context): () => Promise<unknown> {
  let running: Promise<unknown> | undefined;
  const check = async () => {
    await probe(db.read, {});
    await probeWrite(db.single, clock());
  };
  return () => {
    running ??= check().finally(() => {
      running = undefined;
    });
    return running;
  };
}

export function healthRoutes(routes: Routes, ctx: Context, lifecycle: Lifecycle): void {
  const checkDatabase = databaseCheck(ctx);
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
}
