import { z } from 'zod';
import { profile } from './account.ts';
import { at, define, repeatable } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  absent,
  described,
  expiresIn,
  field,
  notSupported,
  opaque,
  secret,
  shown,
  text,
  token,
} from './fields.ts';
import { authorizationDetails, resourceText, scopeText } from './scopes.ts';

const accessToken = shown('Send it as `Authorization: Bearer …`. Treat it as opaque.', examples.accessToken);
const bearer = described(z.literal('Bearer'), 'Always `Bearer`.');

/** The tokens of a sign-in or refresh. `expires_in` is the access token's remaining lifetime in seconds. */
export const tokenSet = z
  .object({
    access_token: accessToken,
    token_type: bearer,
    expires_in: expiresIn('the access token', 14_400),
    refresh_token: shown(
      'Works once, for the next tokens. Store it before you use the access token.',
      examples.refreshToken,
    ),
    scope: shown(
      'What the tokens allow. Omitted if that is everything the user may do, unless it was asked for.',
      'profile email',
    ).optional(),
    authorization_details: authorizationDetails.optional(),
    id_token: shown('The identity token, with the scope openid.', examples.idToken).optional(),
  })
  .meta({ id: 'TokenSet', title: 'Tokens', description: 'RFC 6749 section 5.1' });
export type TokenSet = z.infer<typeof tokenSet>;

export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** Of a run, or a service. Only runs of services have a refresh token; only runs have `issued_token_type`. */
const issuedToken = z
  .object({
    access_token: accessToken,
    issued_token_type: described(z.literal(accessTokenType).optional(), 'Only present for a run.'),
    token_type: bearer,
    expires_in: expiresIn('the access token', 900),
    scope: shown('What the token allows.', 'profile'),
    refresh_token: shown(
      'Only present for a run that a service made. It is refreshed with the key of that service.',
      examples.refreshToken,
    ).optional(),
    authorization_details: authorizationDetails.optional(),
  })
  .meta({
    id: 'IssuedToken',
    title: 'For a run or a service',
    description: 'RFC 8693 section 2.2.1, RFC 6749 section 4.4.3',
  });
export type IssuedToken = z.infer<typeof issuedToken>;

/** The response to a sign-in in cookie mode: the credential is only in the HttpOnly cookie. */
export const cookieSignIn = z
  .object({ user: described(profile, 'The profile of the user who signed in.') })
  .meta({
    id: 'CookieLogin',
    title: 'With session=cookie',
    description: 'The response to a sign-in in cookie mode. The credential is only in the cookie.',
  });

const spentToken = described(
  token,
  'The refresh token of the latest response. It is spent by this request.',
  examples.refreshToken,
);

/** Only a new sign-in can change the scope or resource: if present here, they must equal the granted ones. */
const unchangedAccess = {
  scope: described(scopeText, "Must be the session's own scope, in any order.", 'profile email').optional(),
  resource: described(resourceText, "Must be the session's own resource.").optional(),
  authorization_details: notSupported,
};

const secretField = (description: string, example: string) =>
  described(secret(fieldLimits.bodyBytes).optional(), description, example);

/** How a client authenticates that signs its requests. @see RFC 7523 section 2.2 */
const assertionFields = {
  client_assertion: secretField(
    'A JWT that the client signed, if the document at its client_id says `private_key_jwt`.',
    examples.idToken,
  ),
  client_assertion_type: field(
    'Required with client_assertion.',
    'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  ),
};

/** How a client authenticates. Its key may also come by HTTP Basic. @see RFC 6749 section 2.3.1 */
const clientFields = {
  client_id: field('The client_id. Required for public clients.', examples.serviceId),
  client_secret: secretField('The secret of a service key, instead of HTTP Basic.', 'lk_sk_…'),
  ...assertionFields,
};

/** What the user read on the page after approving. */
const confirmationCode = described(
  opaque(fieldLimits.userCode).optional(),
  'The code that the page shows after the approval, once a poll was confirmation_required.',
  '123456',
);

const deviceTokenRequest = z.object({
  device_code: described(token, 'The device code that the sign-in was started with.', examples.deviceCode),
  confirmation_code: confirmationCode,
  ...unchangedAccess,
});

const refreshRequest = z.object({
  refresh_token: spentToken,
  ...unchangedAccess,
  client_id: clientFields.client_id,
  ...assertionFields,
});

/** `session=cookie` starts a session in an HttpOnly cookie instead of returning tokens. */
export const signInQuery = z.object({
  session: described(
    z.literal('cookie').optional(),
    'Set it to `cookie` to start a session in an HttpOnly cookie, for web pages, instead of getting tokens.',
  ),
});

/** What to revoke: all of the user's sessions, or with `session` only the current one. */
export const revokeScope = z.object({
  scope: described(
    z.literal('session').optional(),
    "Set it to `session` to revoke only the current session. Default: all of the user's sessions.",
  ),
});

/** The JSON body of `POST /revoke`. One with a token would be another operation, so it is refused. */
export const revokeRequest = revokeScope.extend({
  token: absent('must be sent as a form (Content-Type: application/x-www-form-urlencoded)'),
});

export const authorizationCodeGrantType = 'authorization_code';
export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';
export const refreshGrantType = 'refresh_token';

export const tokenExchangeGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const clientCredentialsGrantType = 'client_credentials';
export const federationGrantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** Everything that the token endpoint grants tokens for. */
export const grantTypes = [
  authorizationCodeGrantType,
  deviceCodeGrantType,
  refreshGrantType,
  tokenExchangeGrantType,
  clientCredentialsGrantType,
  federationGrantType,
] as const;
export type GrantType = (typeof grantTypes)[number];

const tokenType = (description: string) =>
  text(200)
    .optional()
    .meta({ enum: [accessTokenType], description, examples: [accessTokenType] });

/**
 * The form body of `POST /token`.
 * @see RFC 6749 sections 4.1.3, 4.4 and 6, RFC 8628 section 3.4, RFC 8693 section 2.1, RFC 7523 section 2.1
 */
const grantForm = z
  .object({
    grant_type: text(200).meta({
      enum: grantTypes,
      examples: [refreshGrantType],
      description: `${authorizationCodeGrantType} with code; ${refreshGrantType} with refresh_token; ${deviceCodeGrantType} with device_code; ${tokenExchangeGrantType} with subject_token, or from a page with the session cookie; ${clientCredentialsGrantType} with a service key; ${federationGrantType} with assertion and key_id.`,
    }),
    ...unchangedAccess,
    ...clientFields,
    code: described(token.optional(), 'The authorization code.', examples.authorizationCode),
    redirect_uri: field(
      'The redirect URI of the authorization request. Required if that request named one.',
      'https://grafana.example/login/generic_oauth',
    ),
    code_verifier: field(
      'The code verifier that the code challenge was computed from (RFC 7636).',
      'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
    ),
    confirmation_code: confirmationCode,
    device_code: described(token.optional(), 'The device code, to redeem it.', examples.deviceCode),
    refresh_token: spentToken.optional(),
    subject_token: secretField(
      'The access token or key that the run is made within. Default: the session cookie.',
      examples.accessToken,
    ),
    subject_token_type: tokenType('Required with subject_token.'),
    assertion: described(
      secret(fieldLimits.assertion).optional(),
      'The token of an issuer that the key trusts (RFC 7523).',
      examples.idToken,
    ),
    key_id: described(token.optional(), 'The id of the key that the run is made within.', examples.keyId),
    requested_token_type: tokenType('The only supported type, and the default.'),
    actor_token: notSupported,
    actor_token_type: notSupported,
    audience: notSupported,
    authorization_details: described(
      z.string().optional(),
      `What the run allows in detail, in terms of the services that read it: a JSON array of objects with a string type (RFC 9396), of at most ${fieldLimits.authorizationDetailsBytes} bytes. Default: the details of the subject token.`,
      '[{"type":"project_access","projects":["engine"]}]',
    ),
    expires_in: described(
      z.string().optional(),
      `Lifetime of the access token in seconds: ${fieldLimits.runMinSeconds} to ${fieldLimits.runMaxSeconds}. Default: ${fieldLimits.runDefaultSeconds} for a run, ${fieldLimits.runMaxSeconds} for a service that acts for no user.`,
      '900',
    ),
  })
  .meta({
    examples: [
      { grant_type: deviceCodeGrantType, device_code: examples.deviceCode },
      { grant_type: refreshGrantType, refresh_token: examples.refreshToken },
      {
        grant_type: tokenExchangeGrantType,
        subject_token: examples.accessToken,
        subject_token_type: accessTokenType,
        scope: 'profile',
        expires_in: '900',
      },
      { grant_type: clientCredentialsGrantType, resource: examples.resource, scope: 'projects:read' },
      {
        grant_type: federationGrantType,
        assertion: examples.idToken,
        key_id: examples.keyId,
        scope: 'projects:read',
      },
    ],
  });

/** The parameters of a token request. Each grant uses some of them. */
export type GrantParameters = Partial<z.output<typeof grantForm>>;

/** The form body of `POST /refresh`. @see RFC 6749 section 6 */
const refreshForm = z
  .object({
    grant_type: text(200).meta({
      enum: [refreshGrantType],
      examples: [refreshGrantType],
      description: `${refreshGrantType}, with refresh_token.`,
    }),
    refresh_token: spentToken.optional(),
    ...unchangedAccess,
    ...clientFields,
  })
  // Required by the document but not by the schema, so that a wrong grant_type is reported before a missing
  // token.
  .meta({ required: ['grant_type', 'refresh_token'] });

export const tokenTypeHint = described(text(100).optional(), 'Accepted, but not needed.', 'access_token');

/** The form body of `POST /revoke`. @see RFC 7009 section 2.1 */
export const revokeForm = z.object({
  token: described(
    secret(fieldLimits.bodyBytes),
    'An access or refresh token, whose session ends, or a device code, whose sign-in is cancelled. Any other string changes nothing.',
    examples.refreshToken,
  ),
  token_type_hint: tokenTypeHint,
  client_id: clientFields.client_id,
  ...assertionFields,
});

export const tokenEndpoints = {
  issueToken: define({
    ...at('device', 'post', '/token'),
    title: 'Get tokens',
    summary: 'Returns the tokens of a device sign-in once the user has approved it',
    notes:
      'Poll at the interval returned when the sign-in was started; it counts from the response. With `Prefer: wait=25`, the response waits for the decision of the user. With a form-encoded body, this is the OAuth token endpoint, which also refreshes tokens, makes runs (RFC 8693) and issues tokens to services that act for no user. A run is a session within another session or a key, for one piece of work. With a service key that may delegate, the service acts in it.',
    access: 'anyone',
    takesServiceKey: true,
    takesCredential: true,
    headers: {
      ...repeatable(60),
      Prefer:
        '`wait=N` holds a poll that is too early for an answer until the user has decided, the code has expired or N seconds have passed, up to 25. `Preference-Applied` then tells the time that was applied. See RFC 7240.',
    },
    body: deviceTokenRequest,
    form: grantForm,
    response: tokenSet,
    formResponse: z.union([tokenSet, issuedToken]),
    errors: {
      invalid_request:
        'A field is missing, empty, duplicate, too long or of the wrong type, or the subject token cannot be used. The description says which.',
      invalid_grant: 'The device code or refresh token is unknown, expired, already used or revoked.',
      authorization_pending: true,
      slow_down: true,
      confirmation_required: true,
      access_denied: true,
      expired_token: true,
      unsupported_grant_type: true,
      invalid_scope: 'A scope is unknown, or exceeds the scope of the session or key.',
      invalid_target: 'No service declares the resource, or the session or service may not use it.',
      invalid_authorization_details: true,
      invalid_client: 'The service key is missing where one is needed, or wrong.',
      unauthorized_client: 'The service may not delegate, or may not ask for this resource.',
      account_disabled: true,
      conflict: 'The session or key has too many active runs.',
      rate_limited: true,
    },
  }),
  refresh: define({
    ...at('sessions', 'post', '/refresh'),
    title: 'Refresh tokens',
    summary: 'Exchanges a refresh token for a new access token and a new refresh token',
    notes:
      'Each refresh token works once. Send a random Idempotency-Key for each refresh token, and store both before sending the request. If the response is lost, repeat the request with the same key to get the same tokens. Without a key, a lost response means that the user has to sign in again. Repeating the request from another network or program works too, but notifies the user. A form without a key can be repeated for 10 seconds by the same client, from the same network and program. The refresh token of a run also needs the key of the service that made it.',
    access: 'anyone',
    takesServiceKey: true,
    headers: repeatable(600),
    body: refreshRequest,
    form: refreshForm,
    response: tokenSet,
    errors: {
      invalid_grant:
        'The refresh token is unknown, expired, already used or revoked. The user has to sign in again.',
      invalid_scope: "The scope is not the session's own.",
      invalid_target: "The resource is not the session's own.",
      unsupported_grant_type: true,
      invalid_client: 'The refresh token of a run came without the service key, or with a wrong one.',
      unauthorized_client: 'The service that made the run may no longer act for users.',
      account_disabled: true,
      rate_limited: true,
    },
  }),
} as const;
