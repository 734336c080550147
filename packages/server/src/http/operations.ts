import type { Context } from '../context.ts';
import { probe } from '../database/probe.ts';
import { temporarilyUnavailable } from '../errors.ts';
import type { App } from './api.ts';
import type { Lifecycle } from './conventions.ts';
import { describeDocument } from './documents.ts';
import { pageHeaders } from './pages.ts';
import { type InterfaceDocument, referencePage, referenceStyle } from './reference.ts';
import { fileResponse, storeFile } from './stored-file.ts';

/** For load balancers: whether the process lives, and whether it should be sent requests. */
export function healthRoutes(app: App, ctx: Context, lifecycle: Lifecycle): void {
  describeDocument(app, {
    id: 'healthz',
    path: '/healthz',
    summary: 'Whether the process lives',
    type: 'application/json',
  });
  app.get('/healthz', (c) => c.json({ status: 'ok' }));

  describeDocument(app, {
    id: 'readyz',
    path: '/readyz',
    summary: 'Whether it should be sent requests: 503 while the store is out of reach or the process drains',
    type: 'application/json',
  });
  app.get('/readyz', async (c) => {
    if (lifecycle.draining) throw temporarilyUnavailable(undefined, 'draining');
    await probe(ctx.db.read, {}).catch((error: unknown) => {
      throw temporarilyUnavailable(error);
    });
    return c.json({ status: 'ready' });
  });
}

/**
 * The document of the whole interface, made from the same schemas that check requests, and the page to read it
 * on. Describes what was registered before it.
 */
export function documentRoutes(app: App, ctx: Context, version: string): void {
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
  describeDocument(app, {
    id: 'document',
    path: '/openapi.json',
    summary: 'This interface for programs (OpenAPI 3.1)',
    type: 'application/json',
  });
  describeDocument(app, { id: 'reference', path: '/docs', summary: 'This page', type: 'text/html' });
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Latchkey',
      version,
      description:
        'Logins for a coding-session platform: by device code for programs, by mail and passkey for people.',
    },
    servers: [{ url: ctx.config.baseUrl }],
  });
  app.get('/openapi.json', (c) => c.json(document));

  const headers = pageHeaders(ctx.config);
  const page = storeFile(referencePage(document as unknown as InterfaceDocument));
  app.get('/docs', (c) => fileResponse(page, c.req.raw.headers, headers));
  const style = storeFile(referenceStyle.text);
  app.get(referenceStyle.path, (c) =>
    fileResponse(style, c.req.raw.headers, { ...headers, 'Content-Type': 'text/css; charset=utf-8' }),
  );
}
