import { z } from 'zod';
import { emailAddress, time } from './fields.ts';

/** An account as services with the right `users` see it. */
export const user = z
  .object({
    id: z.string(),
    email: z.string(),
    email_verified: z.boolean(),
    name: z.string(),
    avatar_url: z.string().nullable(),
    disabled: z.boolean().meta({ description: 'A disabled user has no sessions and cannot sign in.' }),
    created_at: time,
  })
  .meta({ id: 'User' });
export type User = z.infer<typeof user>;

export const userLookup = z.object({ email: emailAddress });
