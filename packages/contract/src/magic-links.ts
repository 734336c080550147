import { z } from 'zod';
import { fieldLimits } from './field-limits.ts';
import { emailAddress, opaque, text, token } from './fields.ts';

export const magicLinkRequest = z.object({ email: emailAddress });

export const magicLinkSent = z
  .object({
    status: z.literal('sent'),
    expires_in: z.int(),
    request: z
      .string()
      .meta({ description: 'Only the asking client holds it; the mailed code works only with it.' }),
  })
  .meta({ id: 'MagicLinkSent' });

/** A token that is there and cannot be one is a mistake to be told of, not to be passed over for the code. */
const badToken = z
  .unknown()
  .refine((value) => value === undefined, 'must be the token of a link, or be left out')
  .optional()
  .meta({ not: {} });

/**
 * Either the token of the link, or the code of the mail together with the request it belongs to. With `token`
 * a page may send the address the person typed; a link for another address is then refused unspent.
 */
export const magicLinkVerification = z.union([
  z.object({ token, email: text(fieldLimits.emailAddress).optional() }),
  z.object({ request: token, code: opaque(fieldLimits.emailCode), token: badToken }),
]);
