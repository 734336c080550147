import { z } from 'zod';
import { emailAddress, token } from './fields.ts';

export const emailChangeRequest = z.object({ email: emailAddress });

export const emailChangeSent = z
  .object({ status: z.literal('sent'), expires_in: z.int() })
  .meta({ id: 'EmailChangeSent', description: 'Identical whether or not another account uses the address.' });

export const emailChangeVerification = z.object({
  token,
  current_email: emailAddress.optional().meta({
    description:
      "The account's current email address. Required unless the request carries a credential of that account.",
    examples: ['ada@example.com'],
  }),
});

export const emailChangeToken = z.object({ token });

export const emailChangePreview = z
  .object({ email: z.string(), new_email: z.string() })
  .meta({ id: 'EmailChangePreview' });
