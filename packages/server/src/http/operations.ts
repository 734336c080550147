import type { Context } from '../context.ts';
import { probe } from '../database/probe.ts';
import { temporarilyUnavailable } from '../errors.ts';
import type { Lifecycle } from './conventions.ts';
import { describeDocument } from './documents.ts';
import { pageHeaders } from './pages.ts';
import { type InterfaceDocument, referencePage, referenceStyle } from './reference.ts';
import type { Routes } from './routing.ts';
import { fileResponse, storeFile } from './stored-file.ts';

/** For load balancers: whether the process lives, and whether it should be sent requests. */
export function healthRoutes(routes: Routes, ctx: Context, lifecycle: Lifecycle): void {
  describeDocument(routes, {
    id: 'healthz',
    path: '/healthz',
    summary: 'Whether the process lives',
    type: 'application/json',
  });
  routes.get('/healthz', (exchange) => exchange.json({ status: 'ok' }));

  describeDocument(routes, {
    id: 'readyz',
    path: '/readyz',
    summary: 'Whether it should be sent requests: 503 while the store is out of reach or the process drains',
    type: 'application/json',
  });
  routes.get('/readyz', async (exchange) => {
    if (lifecycle.draining) throw temporarilyUnavailable(undefined, 'draining');
    await probe(ctx.db.read, {}).catch((error: unknown) => {
      throw temporarilyUnavailable(error);
    });
    return exchange.json({ status: 'ready' });
  });
}

/**
 * The document of the whole interface, made from the same schemas that check requests, and the page to read it
 * on. Describes what was registered before it.
 */
export function documentRoutes(routes: Routes, ctx: Context, version: string): void {
  routes.document.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
  });
  routes.document.openAPIRegistry.registerComponent('securitySchemes', 'cookie', {
    type: 'apiKey',
    in: 'cookie',
    name: ctx.config.https ? '__Host-latchkey_session' : 'latchkey_session',
  });
  routes.document.openAPIRegistry.registerComponent('securitySchemes', 'serviceKey', {
    type: 'http',
    scheme: 'basic',
    description: 'The id and secret that `latchkey-server services create` printed.',
  });
  describeDocument(routes, {
    id: 'document',
    path: '/openapi.json',
    summary: 'This interface for programs (OpenAPI 3.1)',
    type: 'application/json',
  });
  describeDocument(routes, { id: 'reference', path: '/docs', summary: 'This page', type: 'text/html' });
  const document = routes.document.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Latchkey',
      version,
      description:
        'Logins for a coding-session platform: by device code for programs, by mail and passkey for people.',
    },
    servers: [{ url: ctx.config.baseUrl }],
  });
  routes.get('/openapi.json', (exchange) => exchange.json(document));

  const headers = pageHeaders(ctx.config);
  const page = storeFile(referencePage(document as unknown as InterfaceDocument));
  routes.get('/docs', ({ request }) => fileResponse(page, request.headers, headers));
  const style = storeFile(referenceStyle.text);
  routes.get(referenceStyle.path, ({ request }) =>
    fileResponse(style, request.headers, { ...headers, 'Content-Type': 'text/css; charset=utf-8' }),
  );
}
