import type { Context } from '../context.ts';
import { probe } from '../database/probe.ts';
import { temporarilyUnavailable } from '../errors.ts';
import type { App } from './api.ts';
import type { Lifecycle } from './conventions.ts';

/** For load balancers: whether the process lives, and whether it should be sent requests. */
export function healthRoutes(app: App, ctx: Context, lifecycle: Lifecycle): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }));

  app.get('/readyz', async (c) => {
    if (lifecycle.draining) throw temporarilyUnavailable(undefined, 'draining');
    await probe(ctx.db.read, {});
    return c.json({ status: 'ready' });
  });
}

/** The document of the whole interface, made from the same schemas that check requests. */
export function documentRoute(app: App, ctx: Context, version: string): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  app.openAPIRegistry.registerComponent('securitySchemes', 'cookie', {
    type: 'apiKey',
    in: 'cookie',
    name: ctx.config.https ? '__Host-latchkey_session' : 'latchkey_session',
  });
  app.openAPIRegistry.registerComponent('securitySchemes', 'serviceKey', {
    type: 'http',
    scheme: 'basic',
    description: 'The id and secret that `latchkey-server services create` printed.',
  });
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Latchkey',
      version,
      description:
        'Logins for a coding-session platform. Errors have one shape: error, error_description, request_id.',
    },
    servers: [{ url: ctx.config.baseUrl }],
  });
  app.get('/openapi.json', (c) => c.json(document));
}
