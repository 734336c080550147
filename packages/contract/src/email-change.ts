import { z } from 'zod';
import { examples } from './examples.ts';
import { addressShown, emailAddress, expiresIn, token } from './fields.ts';

const newAddress = 'ada@new.example';

/** The token of an emailed link to a new address. */
const linkToken = token.meta({
  description: 'The token in the emailed link, after `#token=`.',
  examples: [examples.emailChangeToken],
});

export const emailChangeRequest = z.object({
  email: emailAddress.meta({
    description: 'The new email address. The case of ASCII letters is ignored.',
    examples: [newAddress],
  }),
});

export const emailChangeSent = z
  .object({
    status: z.literal('sent').meta({ description: 'Always `sent`.' }),
    expires_in: expiresIn('the link', 3600),
  })
  .meta({ id: 'EmailChangeSent', description: 'Identical whether or not another account uses the address.' });

export const emailChangeVerification = z.object({
  token: linkToken,
  current_email: emailAddress.optional().meta({
    description:
      "The account's current email address. Required unless the request carries a credential of that account.",
    examples: [examples.email],
  }),
});

export const emailChangeToken = z.object({ token: linkToken });

export const emailChangePreview = z
  .object({
    email: addressShown.meta({ description: 'The current email address.' }),
    new_email: z
      .string()
      .meta({ description: 'The address that the link would set.', examples: [newAddress] }),
  })
  .meta({ id: 'EmailChangePreview', description: 'What a confirmation link would change.' });
