import { z } from 'zod';
import { errorResponse, etag, type Operation } from './operations.ts';
import type { Handler, Routes } from './server.ts';

interface StaticPath
  extends Pick<Operation, 'id' | 'title' | 'group' | 'path' | 'summary'>,
    Partial<Pick<Operation, 'security' | 'responses'>> {
  readonly type: string;
  /** Default: a string. */
  readonly schema?: z.ZodType;
  /** It has an entity tag, so a client that already has it gets 304. */
  readonly isStored?: true;
  readonly handler: Handler;
}

const text = z.string();
const ifNoneMatch = z
  .string()
  .meta({ description: 'The ETag of the copy that the client has.', examples: ['"5f3a9c"'] });

/** Serves a GET that is not an endpoint of the contract, and adds it to the API document. */
export function serveStaticPath(
  routes: Routes,
  { type, schema = text, isStored, handler, responses, ...operation }: StaticPath,
): void {
  const headers = isStored ? [etag] : [];
  routes.get(operation.path, handler);
  routes.operations.push({
    security: [],
    ...operation,
    method: 'get',
    parameters: isStored
      ? [{ name: 'If-None-Match', in: 'header', required: false, schema: ifNoneMatch }]
      : [],
    responses: {
      200: { description: 'OK', headers, content: { [type]: schema } },
      ...(isStored ? { 304: { description: 'Not Modified', headers } } : {}),
      ...responses,
      500: errorResponse(['server_error']),
      503: errorResponse(['temporarily_unavailable']),
    },
  });
}
