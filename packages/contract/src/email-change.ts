import { z } from 'zod';
import { emailAddress, token } from './fields.ts';

export const emailChangeRequest = z.object({ email: emailAddress });

export const emailChangeSent = z
  .object({ status: z.literal('sent'), expires_in: z.int() })
  .meta({ id: 'EmailChangeSent', description: 'The same whether or not another account has the address.' });

export const emailChangeVerification = z.object({
  token,
  current_email: emailAddress.optional().meta({
    description:
      'The address that the account has now. Needed unless the request has the credential of a session of that account.',
    examples: ['ada@example.com'],
  }),
});

export const emailChangeToken = z.object({ token });

export const emailChangePreview = z
  .object({ email: z.string(), new_email: z.string() })
  .meta({ id: 'EmailChangePreview' });
