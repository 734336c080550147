import { z } from 'zod';
import type { Context } from '../context.ts';
import { sessionCookieName } from './cookie.ts';
import { openApiDocument } from './openapi.ts';
import { pageHeaders } from './pages.ts';
import { referencePage, referenceStyle } from './reference.ts';
import type { Routes } from './routing.ts';
import { documentStaticPath } from './static-path.ts';
import { fileResponse, storeFile } from './stored-file.ts';

/**
 * Serves the API document, which is generated from the schemas that validate requests, and the API reference. Each is
 * made once, on first use.
 */
export function documentationRoutes(routes: Routes, ctx: Context, version: string): void {
  documentStaticPath(routes, {
    id: 'document',
    path: '/openapi.json',
    summary: 'The OpenAPI 3.1 document of this API',
    type: 'application/json',
    schema: z.looseObject({ openapi: z.string() }),
    isStored: true,
  });
  documentStaticPath(routes, {
    id: 'reference',
    path: '/docs',
    summary: 'The API reference: this page',
    type: 'text/html',
    isStored: true,
  });
  const options = { version, server: ctx.config.baseUrl, cookie: sessionCookieName(ctx.config) };
  const headers = pageHeaders(ctx.config);
  const document = once(() => openApiDocument(routes.operations, options));
  const json = once(() => storeFile(JSON.stringify(document())));
  const page = once(() => storeFile(referencePage(document())));
  const style = once(() => storeFile(referenceStyle.text));
  routes.get('/openapi.json', ({ request }) =>
    fileResponse(json(), request.headers, { 'Content-Type': 'application/json' }),
  );
  routes.get('/docs', ({ request }) => fileResponse(page(), request.headers, headers));
  routes.get(referenceStyle.path, ({ request }) =>
    fileResponse(style(), request.headers, { ...headers, 'Content-Type': 'text/css; charset=utf-8' }),
  );
}

/** Made on first use, so that no start waits for it. */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
