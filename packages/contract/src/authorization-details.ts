import { z } from 'zod';
import { shown } from './fields.ts';

/** What a token allows in detail, in terms of the services that read it. @see RFC 9396 section 2 */
export const authorizationDetails = z
  .array(
    z.looseObject({
      type: shown('The type, which decides what further members mean.', 'project_access'),
    }),
  )
  .meta({
    id: 'AuthorizationDetails',
    description: 'What the token allows in detail, in terms of the services that read it (RFC 9396).',
    examples: [[{ type: 'project_access', projects: ['engine'] }]],
  });
export type AuthorizationDetails = z.infer<typeof authorizationDetails>;
