import { z } from 'zod';
import type { Context } from '../context.ts';
import { once } from '../values/once.ts';
import { cookieName } from './cookie.ts';
import { describeApi, openApiDocument } from './openapi.ts';
import { pageHeaders, withProduct } from './pages.ts';
import { referenceOf } from './reference/operation.ts';
import { referencePage } from './reference/page.ts';
import type { Routes } from './server.ts';
import { serveStaticPath } from './static-path.ts';
import { fileResponse, storeFile } from './stored-file.ts';

/** Serves the OpenAPI document and the API reference, both generated on first use. */
export function documentationRoutes(routes: Routes, ctx: Context, version: string): void {
  const { baseUrl, product } = ctx.config;
  const options = {
    title: product.name,
    version,
    server: baseUrl,
    cookie: cookieName(ctx.config, 'session'),
  };
  const type = 'application/json';
  const api = once(() => describeApi(routes.operations));
  const json = once(() => storeFile(JSON.stringify(openApiDocument(api(), options))));
  serveStaticPath(routes, {
    id: 'document',
    title: 'Get the OpenAPI document',
    group: 'discovery',
    path: '/openapi.json',
    summary: 'The OpenAPI 3.1 document of this API',
    type,
    schema: z.looseObject({
      openapi: z.string().meta({ description: 'The version of the format.', examples: ['3.1.0'] }),
    }),
    isStored: true,
    handler: ({ request }) => fileResponse(json(), request.headers, { 'Content-Type': type }),
  });
  const page = once(() => storeFile(withProduct(referencePage(referenceOf(api(), options)), product)));
  const headers = pageHeaders();
  serveStaticPath(routes, {
    id: 'reference',
    title: 'Open the API reference',
    group: 'discovery',
    path: '/docs',
    summary: 'The API reference: this page',
    type: 'text/html',
    isStored: true,
    handler: ({ request }) => fileResponse(page(), request.headers, headers),
  });
}
