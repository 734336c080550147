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
      .meta({ description: 'A secret of this client. The emailed code only works together with it.' }),
  })
  .meta({ id: 'MagicLinkSent' });

export const magicLinkToken = z.object({ token });

export const magicLinkPreview = z.object({ expires_in: z.int() }).meta({ id: 'MagicLinkPreview' });

/** With a malformed `token`, the request must fail instead of falling back to the code. */
const noToken = z
  .unknown()
  .refine((value) => value === undefined, 'must be the token of a link, or omitted')
  .optional()
  .meta({ not: {} });

/**
 * Either the token of the link, or the code together with the request it belongs to. With `token`, a page can send the
 * address the user typed: a link for a different address is then refused without being spent.
 */
export const magicLinkVerification = z.union([
  z.object({ token, email: text(fieldLimits.emailAddress).optional() }),
  z.object({ request: token, code: opaque(fieldLimits.emailCode), token: noToken }),
]);
