import { z } from 'zod';
import { profile } from './account.ts';
import { fieldLimits } from './field-limits.ts';
import { opaque, text, token } from './fields.ts';

/** What a login or refresh hands out. `expires_in` is the access token's remaining life in whole seconds. */
export const tokenSet = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int(),
    refresh_token: z.string(),
  })
  .meta({ id: 'TokenSet', description: 'RFC 6749 section 5.1' });
export type TokenSet = z.infer<typeof tokenSet>;

/** What a login in cookie mode answers: the credential itself travels only in the HttpOnly cookie. */
export const cookieSignIn = z.object({ user: profile }).meta({ id: 'CookieLogin' });

export const refreshRequest = z.object({ refresh_token: token });

/** `session=cookie` turns a login into a browser session that no script can read. */
export const signInQuery = z.object({ session: z.literal('cookie').optional() });

/** Which logins end: all of the user's, or with `session` only the one presented. */
export const revokeScope = z.object({ scope: z.literal('session').optional() });

export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';
export const refreshGrantType = 'refresh_token';

/** Form dialect of `POST /token`. @see RFC 6749 section 6, RFC 8628 section 3.4 */
export const grantForm = z.object({
  grant_type: text(200).meta({
    enum: [deviceCodeGrantType, refreshGrantType],
    description: `${refreshGrantType} with refresh_token, or ${deviceCodeGrantType} with device_code.`,
  }),
  device_code: token.optional(),
  refresh_token: token.optional(),
});

/** Form dialect of `POST /refresh`. @see RFC 6749 section 6 */
export const refreshForm = z
  .object({
    grant_type: text(200).meta({
      enum: [refreshGrantType],
      description: `${refreshGrantType}, with refresh_token.`,
    }),
    refresh_token: token.optional(),
  })
  // A wrong grant_type is told before a missing token.
  .meta({ required: ['grant_type', 'refresh_token'] });

/** Form dialect of `POST /revoke`. @see RFC 7009 section 2.1 */
export const revokeForm = z.object({
  token: opaque(fieldLimits.bodyBytes),
  token_type_hint: text(100).optional(),
});
