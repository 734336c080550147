import { z } from 'zod';
import type { Context } from '../context.ts';
import { probe } from '../database/probe.ts';
import { temporarilyUnavailable } from '../errors.ts';
import { sessionCookieName } from './cookie.ts';
import { documentStaticPath } from './documents.ts';
import { openApiDocument } from './openapi.ts';
import { pageHeaders } from './pages.ts';
import { referencePage, referenceStyle } from './reference.ts';
import type { Routes } from './routing.ts';
import type { Lifecycle } from './server.ts';
import { fileResponse, storeFile } from './stored-file.ts';

/** For load balancers: whether the process lives, and whether it should be sent requests. */
export function healthRoutes(routes: Routes, ctx: Context, lifecycle: Lifecycle): void {
  documentStaticPath(routes, {
    id: 'healthz',
    path: '/healthz',
    summary: 'Whether the process lives',
    type: 'application/json',
    schema: z.object({ status: z.literal('ok') }),
  });
  routes.get('/healthz', (exchange) => exchange.json({ status: 'ok' }));

  documentStaticPath(routes, {
    id: 'readyz',
    path: '/readyz',
    summary: 'Whether it should be sent requests: 503 while the store is out of reach or the process drains',
    type: 'application/json',
    schema: z.object({ status: z.literal('ready') }),
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
 * on. Both are made once, at the first request for one of them.
 */
export function documentRoutes(routes: Routes, ctx: Context, version: string): void {
  documentStaticPath(routes, {
    id: 'document',
    path: '/openapi.json',
    summary: 'This interface for programs (OpenAPI 3.1)',
    type: 'application/json',
    schema: z.looseObject({ openapi: z.string() }),
    isStored: true,
  });
  documentStaticPath(routes, {
    id: 'reference',
    path: '/docs',
    summary: 'This page',
    type: 'text/html',
    isStored: true,
  });
  const options = { version, server: ctx.config.baseUrl, cookie: sessionCookieName(ctx.config) };
  const headers = pageHeaders(ctx.config);
  const document = once(() => openApiDocument(routes.operations, options));
  const json = once(() => storeFile(JSON.stringify(document())));
  const page = once(() => storeFile(referencePage(document())));
  routes.get('/openapi.json', ({ request }) =>
    fileResponse(json(), request.headers, { 'Content-Type': 'application/json' }),
  );
  routes.get('/docs', ({ request }) => fileResponse(page(), request.headers, headers));
  const style = storeFile(referenceStyle.text);
  routes.get(referenceStyle.path, ({ request }) =>
    fileResponse(style, request.headers, { ...headers, 'Content-Type': 'text/css; charset=utf-8' }),
  );
}

/** Made at the first request for it, so that no start waits for what few ask for. */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
