import { z } from 'zod';
import { type Answer, errorAnswer, etag, type Operation } from './openapi.ts';
import type { Routes } from './routing.ts';

interface PublicDocument {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  /** Its media type. */
  readonly type: string;
  /** Default: a text. */
  readonly schema?: z.ZodType;
  /** It has an entity tag, and is not sent to a caller that has it. */
  readonly isStored?: true;
  readonly security?: Operation['security'];
  /** Further answers. */
  readonly responses?: Readonly<Record<number, Answer>>;
}

const text = z.string();
const ifNoneMatch = z.string().meta({ description: 'The ETag of the copy that the caller has.' });

/** Puts something that is read by GET into the document of the interface. */
export function documentStaticPath(
  routes: Routes,
  { id, path, summary, type, schema = text, isStored, security = [], responses }: PublicDocument,
): void {
  const headers = isStored ? [etag] : [];
  routes.describe({
    id,
    method: 'get',
    path,
    summary,
    security,
    parameters: isStored
      ? [{ name: 'If-None-Match', in: 'header', required: false, schema: ifNoneMatch }]
      : [],
    responses: {
      200: { description: 'Done', headers, content: { [type]: schema } },
      ...(isStored ? { 304: { description: 'The caller has it already', headers } } : {}),
      ...responses,
      500: errorAnswer(['server_error']),
      503: errorAnswer(['temporarily_unavailable']),
    },
  });
}
