import { z } from 'zod';

/** What a token allows in detail, in terms of the services that read it. @see RFC 9396 section 2 */
export const authorizationDetails = z
  .array(z.looseObject({ type: z.string() }))
  .meta({ id: 'AuthorizationDetails', description: 'RFC 9396 section 2' });
export type AuthorizationDetails = z.infer<typeof authorizationDetails>;
