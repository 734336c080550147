import { z } from 'zod';
import { profile } from './account.ts';
import { authorizationDetails } from './authorization-details.ts';
import { fieldLimits } from './field-limits.ts';
import { notSupported, opaque, text, token } from './fields.ts';
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
    authorization_details: authorizationDetails.optional(),
  })
  .meta({ id: 'TokenSet', description: 'RFC 6749 section 5.1' });
export type TokenSet = z.infer<typeof tokenSet>;

export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/**
 * The access token of a run or of a service that acts for no user. Only a run that a service made has a refresh token,
 * and only the type of a run's token is named.
 */
export const issuedToken = z
  .object({
    access_token: z.string(),
    issued_token_type: z.literal(accessTokenType).optional(),
    token_type: z.literal('Bearer'),
    expires_in: z.int(),
    scope: z.string(),
    refresh_token: z.string().optional(),
    authorization_details: authorizationDetails.optional(),
  })
  .meta({ id: 'IssuedToken', description: 'RFC 8693 section 2.2.1, RFC 6749 section 4.4.3' });
export type IssuedToken = z.infer<typeof issuedToken>;

/** The response to a sign-in in cookie mode: the credential is only in the HttpOnly cookie. */
export const cookieSignIn = z.object({ user: profile }).meta({ id: 'CookieLogin' });

/** Only a new login can have another scope or resource: if present here, they must be the login's own. */
const unchangedAccess = {
  scope: scopeText.meta({ description: "Must be the login's own scope, in any order." }).optional(),
  resource: resourceText.meta({ description: "Must be the login's own resource." }).optional(),
  authorization_details: notSupported,
};

export const deviceTokenRequest = z.object({ device_code: token, ...unchangedAccess });

export const refreshRequest = z.object({ refresh_token: token, ...unchangedAccess });

/** `session=cookie` starts a session in an HttpOnly cookie instead of returning tokens. */
export const signInQuery = z.object({ session: z.literal('cookie').optional() });

/** What to revoke: all of the user's sessions, or with `session` only the current one. */
export const revokeScope = z.object({ scope: z.literal('session').optional() });

export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';
export const refreshGrantType = 'refresh_token';

export const tokenExchangeGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const clientCredentialsGrantType = 'client_credentials';

/** Everything that the token endpoint grants tokens for. */
export const grantTypes = [
  deviceCodeGrantType,
  refreshGrantType,
  tokenExchangeGrantType,
  clientCredentialsGrantType,
] as const;

/** The form body of `POST /token`. @see RFC 6749 sections 4.4 and 6, RFC 8628 section 3.4, RFC 8693 section 2.1 */
export const grantForm = z.object({
  grant_type: text(200).meta({
    enum: grantTypes,
    description: `${refreshGrantType} with refresh_token; ${deviceCodeGrantType} with device_code; ${tokenExchangeGrantType} with subject_token, or from a page with the session cookie; ${clientCredentialsGrantType} with a service key.`,
  }),
  ...unchangedAccess,
  device_code: token.optional(),
  refresh_token: token.optional(),
  subject_token: opaque(fieldLimits.bodyBytes).optional().meta({
    description: 'The access token or key that the run is made within. Default: the session cookie.',
  }),
  subject_token_type: text(200)
    .optional()
    .meta({ enum: [accessTokenType] }),
  requested_token_type: text(200)
    .optional()
    .meta({ enum: [accessTokenType] }),
  client_secret: notSupported,
  actor_token: notSupported,
  actor_token_type: notSupported,
  audience: notSupported,
  authorization_details: z
    .string()
    .optional()
    .meta({
      description: `What the run allows in detail, in terms of the services that read it: a JSON array of objects with a string type (RFC 9396), of at most ${fieldLimits.authorizationDetailsBytes} bytes. Default: that of the subject token.`,
    }),
  expires_in: z
    .string()
    .optional()
    .meta({
      description: `Lifetime of the access token in seconds: ${fieldLimits.runMinSeconds} to ${fieldLimits.runMaxSeconds}. Default: ${fieldLimits.runDefaultSeconds} for a run, ${fieldLimits.runMaxSeconds} for a service that acts for no user.`,
    }),
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
