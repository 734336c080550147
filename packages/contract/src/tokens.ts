import { z } from 'zod';
import { profile } from './account.ts';
import { fieldLimits } from './field-limits.ts';
import { opaque, text, token } from './fields.ts';
import { resourceText, scopeText } from './scopes.ts';

/** The tokens issued by a sign-in or refresh. `expires_in` is the access token's remaining lifetime in seconds. */
export const tokenSet = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int(),
    refresh_token: z.string(),
    scope: z.string().optional().meta({
      description:
        'What the tokens allow. Omitted if that is everything the user may do, unless it was asked for.',
    }),
  })
  .meta({ id: 'TokenSet', description: 'RFC 6749 section 5.1' });
export type TokenSet = z.infer<typeof tokenSet>;

/** The response to a sign-in in cookie mode: the credential is only in the HttpOnly cookie. */
export const cookieSignIn = z.object({ user: profile }).meta({ id: 'CookieLogin' });

/** Only a new login can have another scope or resource: if present here, they must be the login's own. */
const unchangedAccess = {
  scope: scopeText.meta({ description: "Must be the login's own scope, in any order." }).optional(),
  resource: resourceText.meta({ description: "Must be the login's own resource." }).optional(),
};

export const deviceTokenRequest = z.object({ device_code: token, ...unchangedAccess });

export const refreshRequest = z.object({ refresh_token: token, ...unchangedAccess });

/** `session=cookie` starts a session in an HttpOnly cookie instead of returning tokens. */
export const signInQuery = z.object({ session: z.literal('cookie').optional() });

/** What to revoke: all of the user's sessions, or with `session` only the current one. */
export const revokeScope = z.object({ scope: z.literal('session').optional() });

export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';
export const refreshGrantType = 'refresh_token';

/** The form body of `POST /token`. @see RFC 6749 section 6, RFC 8628 section 3.4 */
export const grantForm = z.object({
  grant_type: text(200).meta({
    enum: [deviceCodeGrantType, refreshGrantType],
    description: `${refreshGrantType} with refresh_token, or ${deviceCodeGrantType} with device_code.`,
  }),
  device_code: token.optional(),
  refresh_token: token.optional(),
  ...unchangedAccess,
});

/** The form body of `POST /refresh`. @see RFC 6749 section 6 */
export const refreshForm = z
  .object({
    grant_type: text(200).meta({
      enum: [refreshGrantType],
      description: `${refreshGrantType}, with refresh_token.`,
    }),
    refresh_token: token.optional(),
    ...unchangedAccess,
  })
  // Required by the document but not by the schema, so that a wrong grant_type is reported before a missing token.
  .meta({ required: ['grant_type', 'refresh_token'] });

/** The form body of `POST /revoke`. @see RFC 7009 section 2.1 */
export const revokeForm = z.object({
  token: opaque(fieldLimits.bodyBytes),
  token_type_hint: text(100).optional(),
});
