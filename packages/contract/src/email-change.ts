import { z } from 'zod';
import { examples } from './examples.ts';
import { addressShown, described, emailAddress, expiresIn, shown, token } from './fields.ts';

const newAddress = 'ada@new.example';

/** The token of an emailed link to a new address. */
const linkToken = described(
  token,
  'The token in the emailed link, after `#token=`.',
  examples.emailChangeToken,
);

export const emailChangeRequest = z.object({
  email: described(emailAddress, 'The new email address. The case of ASCII letters is ignored.', newAddress),
});

export const emailChangeSent = z
  .object({
    status: described(z.literal('sent'), 'Always `sent`.'),
    expires_in: expiresIn('the link', 3600),
  })
  .meta({ id: 'EmailChangeSent', description: 'Identical whether or not another account uses the address.' });

export const emailChangeVerification = z.object({
  token: linkToken,
  current_email: described(
    emailAddress.optional(),
    "The account's current email address. Required unless the request carries a credential of that account.",
    examples.email,
  ),
});

export const emailChangeToken = z.object({ token: linkToken });

export const emailChangePreview = z
  .object({
    email: described(addressShown, 'The current email address.'),
    new_email: shown('The address that the link would set.', newAddress),
  })
  .meta({ id: 'EmailChangePreview', description: 'What a confirmation link would change.' });
