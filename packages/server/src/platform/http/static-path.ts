import type { EndpointGroup } from '@latchkey/contract/endpoint-groups';
import { z } from 'zod';
import { errorResponse, etag, type Operation, type ResponseDescription } from './operations.ts';
import type { Routes } from './routing.ts';

interface StaticPath {
  readonly id: string;
  readonly title: string;
  readonly group: EndpointGroup;
  readonly path: string;
  readonly summary: string;
  /** The media type. */
  readonly type: string;
  /** Default: a string. */
  readonly schema?: z.ZodType;
  /** It has an entity tag, so a client that already has it gets 304. */
  readonly isStored?: true;
  readonly security?: Operation['security'];
  /** Further responses. */
  readonly responses?: Readonly<Record<number, ResponseDescription>>;
}

const text = z.string();
const ifNoneMatch = z
  .string()
  .meta({ description: 'The ETag of the copy that the client has.', examples: ['"5f3a9c"'] });

/** Adds a GET that is not an endpoint of the contract to the API document. */
export function documentStaticPath(
  routes: Routes,
  { id, title, group, path, summary, type, schema = text, isStored, security = [], responses }: StaticPath,
): void {
  const headers = isStored ? [etag] : [];
  routes.describe({
    id,
    title,
    group,
    method: 'get',
    path,
    summary,
    security,
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
