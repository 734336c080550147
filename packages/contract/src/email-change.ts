import { z } from 'zod';
import { examples } from './examples.ts';
import { addressShown, described, emailAddress, expiresIn, model, shown, token } from './fields.ts';

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

export const emailChangeSent = model(
  'EmailChangeSent',
  'Identical whether or not another account uses the address.',
  {
    status: described(z.literal('sent'), 'Always `sent`.'),
    expires_in: expiresIn('the link', 3600),
  },
);

export const emailChangeVerification = z.object({
  token: linkToken,
  current_email: described(
    emailAddress.optional(),
    "The account's current email address. Required unless the request carries a credential of that account.",
    examples.email,
  ),
});

export const emailChangeToken = z.object({ token: linkToken });

export const emailChangePreview = model('EmailChangePreview', 'What a confirmation link would change.', {
  email: described(addressShown, 'The current email address.'),
  new_email: shown('The address that the link would set.', newAddress),
});
