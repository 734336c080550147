import { z } from 'zod';
import { at, define } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { described, flag, int, model, secret, shown, texts, url } from './fields.ts';
import { organizationRoles } from './organizations.ts';
import { authorizationDetails, listedScopes } from './scopes.ts';
import { sessionKinds } from './sessions.ts';
import { tokenTypeHint } from './tokens.ts';

/** The media type of a signed introspection response. @see RFC 9701 section 4 */
export const introspectionJwtType = 'application/token-introspection+jwt';

/** Accepts any string as the token. The hint is accepted but not needed. @see RFC 7662 section 2.1 */
export const introspectionRequest = z.object({
  token: described(
    secret(fieldLimits.bodyBytes),
    'The token that a request to your service came with.',
    examples.accessToken,
  ),
  token_type_hint: tokenTypeHint,
});

const address = (description: string, path: string) => url(description, `https://login.example${path}`);

/** Runs are at most three deep, so three services can act in turn. The one that acts now is outermost. */
const actorId = shown('The id of the service.', examples.serviceId);
const earlier = { description: 'The service that acted before it.', examples: [{ sub: examples.serviceId }] };
const firstActor = z.object({ sub: actorId });
const secondActor = z.object({ sub: actorId, act: firstActor.optional().meta(earlier) });
const actor = model('Actor', 'RFC 8693 section 4.1', {
  sub: actorId,
  act: secondActor.optional().meta(earlier),
});

export const userOrganizations = (condition: string) =>
  described(
    z
      .array(
        z.object({
          id: shown('The id of the organization.', examples.organizationId),
          slug: shown('Its short name in addresses.', 'analytical-engines'),
          role: described(z.enum(organizationRoles), 'The role of the user in it.', 'admin'),
        }),
      )
      .optional(),
    `The first 100 organizations of the user, the personal one first, ${condition}.`,
  );
export const organizationsTruncated = described(
  z.literal(true).optional(),
  'The user belongs to more organizations than listed.',
);

/**
 * What a service learns about an active token. A service must check `token_use` and accept access tokens
 * only. A refresh token has no `token_type`.
 * @see RFC 7662 section 2.2, RFC 9470 section 6.2
 */
const activeToken = z
  .object({
    active: described(z.literal(true), 'The token is active.'),
    token_use: described(
      z.enum(['access_token', 'refresh_token', 'key']),
      'What kind of token it is. Accept access tokens and keys, never refresh tokens.',
      'access_token',
    ),
    token_type: described(z.literal('Bearer').optional(), 'Only present for access tokens and keys.'),
    scope: shown('What the token allows. `*` is everything the user may do.', 'profile organizations'),
    aud: shown('The resource that the token is bound to, if any.', examples.resource).optional(),
    name: shown(
      "The user's name, if the scope includes profile or the service may read users.",
      'Ada Lovelace',
    ).optional(),
    email: shown('The email address, if the service may read users.', examples.email).optional(),
    email_verified: flag('Whether the user receives email there. Comes with email.', true).optional(),
    organizations: userOrganizations('if the scope includes organizations or the service may read users'),
    organizations_truncated: organizationsTruncated,
    authorization_details: authorizationDetails.optional(),
    act: described(
      actor.optional(),
      'The service that acts for the user (RFC 8693 section 4.1), with the one that acted before it inside. Only present for runs of services.',
    ),
    within: texts(
      'The ids of the sessions and the key that a run is within, nearest first. It ends with each of them.',
      [examples.sessionId],
    ).optional(),
    iss: shown('The base URL of this service.', 'https://login.example'),
    sub: shown('The user id, or the service id of a service that acts for no user.', examples.userId),
    sid: shown(
      'The id of the session or key. A service that acts for no user has none.',
      examples.sessionId,
    ).optional(),
    exp: int('When the token expires, in seconds since 1970.', examples.seconds + 14_400),
    iat: int('When the token was issued, in seconds since 1970.', examples.seconds),
    session_kind: described(
      z.enum([...sessionKinds, 'key']).optional(),
      'What kind of session it belongs to. Omitted together with sid.',
      'browser',
    ),
    client_id: shown('The application that it was issued to, if any.', examples.serviceId).optional(),
    auth_time: int(
      'When the user signed in, in seconds since 1970. Omitted for devices, applications, keys and runs, which never count as recent.',
      examples.seconds - 60,
    ).optional(),
    amr: texts('How the user signed in (RFC 8176). Omitted with auth_time.', ['hwk', 'user']).optional(),
    acr: described(
      z.literal('phr').optional(),
      'Phishing-resistant (OpenID EAP ACR Values): the user signed in with a passkey.',
    ),
  })
  .meta({
    id: 'ActiveToken',
    title: 'Active token',
    description: 'RFC 7662 section 2.2',
    examples: [
      {
        active: true,
        token_use: 'access_token',
        token_type: 'Bearer',
        scope: 'profile organizations',
        name: 'Ada Lovelace',
        organizations: [{ id: examples.organizationId, slug: 'analytical-engines', role: 'admin' }],
        iss: 'https://login.example',
        sub: examples.userId,
        sid: examples.sessionId,
        exp: examples.seconds + 14_400,
        iat: examples.seconds,
        session_kind: 'browser',
        auth_time: examples.seconds - 60,
        amr: ['hwk', 'user'],
        acr: 'phr',
      },
    ],
  });

const inactiveToken = z
  .object({ active: described(z.literal(false), 'The token is not active. Refuse the request.') })
  .meta({
    id: 'InactiveToken',
    title: 'Any other token',
    description: 'The same for every token that is unknown, expired, revoked or for another service.',
  });

export const introspection = z.union([activeToken, inactiveToken]);
export type Introspection = z.infer<typeof introspection>;

const jwtAlgorithms = texts('The algorithms of `private_key_jwt`.', ['RS256', 'ES256', 'EdDSA']).optional();

/** @see RFC 8414 section 2, RFC 8628 section 4, RFC 9207, OpenID Connect Discovery section 3 */
export const serverMetadata = model('ServerMetadata', 'RFC 8414 section 2', {
  issuer: address('The base URL of this service.', ''),
  authorization_endpoint: address('The page where people sign in to a program.', '/authorize'),
  userinfo_endpoint: address('Where applications read about their user.', '/api/v1/auth/userinfo'),
  end_session_endpoint: address('Where an application sends people to sign out.', '/api/v1/auth/end_session'),
  token_endpoint: address('Where codes and refresh tokens are exchanged for tokens.', '/api/v1/auth/token'),
  device_authorization_endpoint: address('Where a device sign-in starts.', '/api/v1/auth/device').optional(),
  revocation_endpoint: address('Where tokens are revoked.', '/api/v1/auth/revoke'),
  introspection_endpoint: address('Where services look tokens up.', '/api/v1/auth/introspect'),
  jwks_uri: address('The public keys of signed responses and feed events.', '/.well-known/jwks.json'),
  scopes_supported: texts('The scopes of Latchkey itself. Services declare others.', listedScopes),
  grant_types_supported: texts('The supported grant types.', ['refresh_token', 'client_credentials']),
  response_types_supported: texts('Only the authorization code.', ['code']),
  response_modes_supported: texts('How a client gets its code.', ['query', 'form_post']),
  code_challenge_methods_supported: texts('The code challenge that each request needs.', ['S256']),
  authorization_response_iss_parameter_supported: described(
    z.literal(true),
    'Each response names its issuer (RFC 9207).',
  ),
  client_id_metadata_document_supported: described(
    z.literal(true).optional(),
    'Whether clients of some hosts may describe themselves at their client_id.',
  ),
  subject_types_supported: texts('A user has the same id for every client.', ['public']),
  id_token_signing_alg_values_supported: texts('The algorithm of identity tokens.', ['RS256']),
  claims_parameter_supported: described(z.literal(false), 'Scopes choose the claims.'),
  request_uri_parameter_supported: described(z.literal(false), 'Requests are made by their parameters.'),
  token_endpoint_auth_methods_supported: texts('How clients authenticate.', ['none', 'client_secret_basic']),
  revocation_endpoint_auth_methods_supported: texts('How clients authenticate to revoke tokens.', ['none']),
  token_endpoint_auth_signing_alg_values_supported: jwtAlgorithms,
  revocation_endpoint_auth_signing_alg_values_supported: jwtAlgorithms,
  introspection_endpoint_auth_methods_supported: texts('How services authenticate.', ['client_secret_basic']),
  introspection_signing_alg_values_supported: texts('The algorithm of signed responses.', ['ES256']),
  service_documentation: address('This reference.', '/docs'),
});
export type ServerMetadata = z.infer<typeof serverMetadata>;

const publicKey = z.object({
  kid: shown('The id of the key. Signatures name it in their header.', 'Qm7xKp2vTz'),
  use: described(z.literal('sig'), 'For signatures.'),
  kty: described(z.enum(['EC', 'RSA']), 'The key type.', 'EC'),
  alg: described(
    z.enum(['ES256', 'RS256']),
    'The algorithm: `ES256` of introspection responses and feed events, `RS256` of identity tokens.',
    'ES256',
  ),
  crv: described(z.literal('P-256').exactOptional(), 'The curve of an EC key.'),
  x: shown('The x coordinate, in base64url.', 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU').exactOptional(),
  y: shown('The y coordinate, in base64url.', 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0').exactOptional(),
  n: shown('The modulus of an RSA key, in base64url.', 'ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAk').exactOptional(),
  e: shown('The exponent of an RSA key, in base64url.', 'AQAB').exactOptional(),
});
export type PublicKey = z.infer<typeof publicKey>;

export const keySet = model('KeySet', 'RFC 7517 section 5', {
  keys: described(z.array(publicKey), 'Every key that a valid signature can be from.'),
});

export const serviceEndpoints = {
  introspect: define({
    ...at('tokens', 'post', '/introspect'),
    title: 'Introspect a token',
    summary: 'Returns whether a token is active, and whose it is',
    notes: 'For services (RFC 7662). Returns a signed response (RFC 9701) if the Accept header asks for one.',
    access: 'service',
    body: introspectionRequest,
    form: introspectionRequest,
    response: introspection,
    signedAs: introspectionJwtType,
  }),
} as const;
