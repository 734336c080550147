import type { z } from 'zod';
import type { App } from './api.ts';

interface PublicDocument {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  /** Its media type. */
  readonly type: string;
  readonly schema?: z.ZodType;
}

/** Puts something that anybody may read by GET into the document of the interface. */
export function describeDocument(app: App, { id, path, summary, type, schema }: PublicDocument): void {
  app.openAPIRegistry.registerPath({
    operationId: id,
    method: 'get',
    path,
    summary,
    security: [],
    responses: { 200: { description: 'Done', content: { [type]: schema ? { schema } : {} } } },
  });
}
