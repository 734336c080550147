import { z } from 'zod';
import { addressShown, emailAddress, emailVerified, personName, pictureUrl, time, userId } from './fields.ts';

/** An account as services with the right `users` see it. */
export const user = z
  .object({
    id: userId,
    email: addressShown,
    email_verified: emailVerified,
    name: personName,
    avatar_url: pictureUrl,
    disabled: z.boolean().meta({
      description: 'A disabled user has no sessions and cannot sign in.',
      examples: [false],
    }),
    created_at: time.meta({ description: 'When the account was created.' }),
  })
  .meta({ id: 'User', description: 'A user, as services see them.' });
export type User = z.infer<typeof user>;

export const userLookup = z.object({ email: emailAddress });
