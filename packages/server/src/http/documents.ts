import type { z } from 'zod';
import type { Routes } from './routing.ts';

interface PublicDocument {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  /** Its media type. */
  readonly type: string;
  readonly schema?: z.ZodType;
}

/** Puts something that anybody may read by GET into the document of the interface. */
export function describeDocument(routes: Routes, { id, path, summary, type, schema }: PublicDocument): void {
  routes.document.openAPIRegistry.registerPath({
    operationId: id,
    method: 'get',
    path,
    summary,
    security: [],
    responses: { 200: { description: 'Done', content: { [type]: schema ? { schema } : {} } } },
  });
}
