import { z } from 'zod';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { absent, described, emailAddress, expiresIn, model, opaque, shown, text, token } from './fields.ts';

const linkToken = described(token, 'The token in the emailed link, after `#token=`.', examples.linkToken);

export const magicLinkRequest = z.object({ email: emailAddress });

export const magicLinkSent = model('MagicLinkSent', 'The same whether or not the account exists.', {
  status: z.literal('sent').meta({ description: 'Always `sent`.' }),
  expires_in: expiresIn('the link and the code', 900),
  request: shown(
    'A secret of this client. The emailed code only works together with it.',
    examples.linkRequest,
  ),
});

export const magicLinkToken = z.object({ token: linkToken });

export const magicLinkPreview = model('MagicLinkPreview', 'A link that still works.', {
  expires_in: expiresIn('the link', 840),
});

/**
 * Either the token of the link, or the code together with the request it belongs to. With `token`, a page can send the
 * address the user typed: a link for a different address is then refused without being spent.
 */
export const magicLinkVerification = z.union([
  z
    .object({
      token: linkToken,
      email: described(
        text(fieldLimits.emailAddress).optional(),
        'The address that the user typed. A link for another address is refused and stays usable.',
        examples.email,
      ),
    })
    .meta({ title: 'With the link' }),
  z
    .object({
      request: described(
        token,
        'The `request` of the response to the request for the link.',
        examples.linkRequest,
      ),
      code: described(
        opaque(fieldLimits.emailCode),
        'The code from the email. Spaces and hyphens do not matter.',
        '1234-5678',
      ),
      // With a malformed token, the request must fail instead of falling back to the code.
      token: absent('must be the token of a link, or omitted'),
    })
    .meta({ title: 'With the code' }),
]);
