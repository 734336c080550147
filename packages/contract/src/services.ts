import { z } from 'zod';
import { authorizationDetails } from './authorization-details.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { opaque } from './fields.ts';
import { organizationRoles } from './organizations.ts';
import { sessionKinds } from './sessions.ts';
import { tokenTypeHint } from './tokens.ts';

/** The media type of a signed introspection response. @see RFC 9701 section 4 */
export const introspectionJwtType = 'application/token-introspection+jwt';

/** Accepts any string as the token. The hint is accepted but not needed. @see RFC 7662 section 2.1 */
export const introspectionRequest = z.object({
  token: opaque(fieldLimits.bodyBytes).meta({
    description: 'The token that a request to your service came with.',
    examples: [examples.accessToken],
  }),
  token_type_hint: tokenTypeHint,
});

/** What a service key may do besides introspecting tokens. */
export const serviceRights = ['delegate', 'feed', 'operate', 'organizations', 'users'] as const;
export type ServiceRight = (typeof serviceRights)[number];

const seconds = (description: string, example: number) => z.int().meta({ description, examples: [example] });

/** Runs are at most three deep, so three services can act in turn. The one that acts now is outermost. */
const actorId = z.string().meta({ description: 'The id of the service.', examples: [examples.serviceId] });
const earlier = { description: 'The service that acted before it.', examples: [{ sub: examples.serviceId }] };
const firstActor = z.object({ sub: actorId });
const secondActor = z.object({ sub: actorId, act: firstActor.optional().meta(earlier) });
const actor = z
  .object({ sub: actorId, act: secondActor.optional().meta(earlier) })
  .meta({ id: 'Actor', description: 'RFC 8693 section 4.1' });

/**
 * What a service learns about an active token. Check `token_use`: a service must accept access tokens only. A refresh
 * token has no `token_type`.
 * @see RFC 7662 section 2.2, RFC 9470 section 6.2
 */
export const activeToken = z
  .object({
    active: z.literal(true).meta({ description: 'The token is active.' }),
    token_use: z.enum(['access_token', 'refresh_token', 'key']).meta({
      description: 'What kind of token it is. Accept access tokens and keys, never refresh tokens.',
      examples: ['access_token'],
    }),
    token_type: z
      .literal('Bearer')
      .optional()
      .meta({ description: 'Only present for access tokens and keys.' }),
    scope: z.string().meta({
      description: 'What the token allows. `*` is everything the user may do.',
      examples: ['profile organizations'],
    }),
    aud: z
      .string()
      .optional()
      .meta({
        description: 'The resource that the token is bound to, if any.',
        examples: [examples.resource],
      }),
    name: z
      .string()
      .optional()
      .meta({
        description: "The user's name, if the scope includes profile or the service may read users.",
        examples: ['Ada Lovelace'],
      }),
    email: z
      .string()
      .optional()
      .meta({
        description: 'The email address, if the service may read users.',
        examples: [examples.email],
      }),
    email_verified: z
      .boolean()
      .optional()
      .meta({
        description: 'Whether the user has proved that they receive email at the address. Comes with email.',
        examples: [true],
      }),
    organizations: z
      .array(
        z.object({
          id: z
            .string()
            .meta({ description: 'The id of the organization.', examples: [examples.organizationId] }),
          slug: z
            .string()
            .meta({ description: 'Its short name in addresses.', examples: ['analytical-engines'] }),
          role: z
            .enum(organizationRoles)
            .meta({ description: 'The role of the user in it.', examples: ['admin'] }),
        }),
      )
      .optional()
      .meta({
        description:
          'The first 100 organizations of the user, the personal one first, if the scope includes organizations or the service may read users.',
      }),
    organizations_truncated: z
      .literal(true)
      .optional()
      .meta({ description: 'The user belongs to more organizations than listed.' }),
    authorization_details: authorizationDetails.optional(),
    act: actor.optional().meta({
      description:
        'The service that acts for the user (RFC 8693 section 4.1), with the one that acted before it inside. Only present for runs of services.',
    }),
    within: z
      .array(z.string())
      .optional()
      .meta({
        description:
          'The ids of the sessions and the key that a run is within, nearest first. It ends with each of them.',
        examples: [[examples.sessionId]],
      }),
    iss: z
      .string()
      .meta({ description: 'The base URL of this service.', examples: ['https://login.example'] }),
    sub: z.string().meta({
      description: 'The user id, or the service id of a service that acts for no user.',
      examples: [examples.userId],
    }),
    sid: z
      .string()
      .optional()
      .meta({
        description: 'The id of the session or key. A service that acts for no user has none.',
        examples: [examples.sessionId],
      }),
    exp: seconds('When the token expires, in seconds since 1970.', examples.seconds + 14_400),
    iat: seconds('When the token was issued, in seconds since 1970.', examples.seconds),
    session_kind: z
      .enum([...sessionKinds, 'key'])
      .optional()
      .meta({
        description: 'What kind of session it belongs to. Omitted together with sid.',
        examples: ['browser'],
      }),
    client_id: z
      .string()
      .optional()
      .meta({
        description: 'The application that it was issued to, if any.',
        examples: [examples.serviceId],
      }),
    auth_time: seconds(
      'When the user signed in, in seconds since 1970. Omitted for devices, applications, keys and runs, which never count as recent.',
      examples.seconds - 60,
    ).optional(),
    amr: z
      .array(z.string())
      .optional()
      .meta({
        description: 'How the user signed in, as RFC 8176 values. Omitted together with auth_time.',
        examples: [['hwk', 'user']],
      }),
    acr: z.literal('phr').optional().meta({
      description: 'Phishing-resistant (OpenID EAP ACR Values): the user signed in with a passkey.',
    }),
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
  .object({ active: z.literal(false).meta({ description: 'The token is not active. Refuse the request.' }) })
  .meta({
    id: 'InactiveToken',
    title: 'Any other token',
    description: 'The same for every token that is unknown, expired, revoked or for another service.',
  });

export const introspection = z.union([activeToken, inactiveToken]);
export type Introspection = z.infer<typeof introspection>;

/** @see RFC 8414 section 2, RFC 8628 section 4, RFC 9207, OpenID Connect Discovery section 3 */
export const serverMetadata = z
  .object({
    issuer: z
      .url()
      .meta({ description: 'The base URL of this service.', examples: ['https://login.example'] }),
    authorization_endpoint: z.url().meta({
      description: 'The page where people sign in to a program.',
      examples: ['https://login.example/authorize'],
    }),
    userinfo_endpoint: z.url().meta({
      description: 'Where applications read about their user.',
      examples: ['https://login.example/api/v1/auth/userinfo'],
    }),
    end_session_endpoint: z.url().meta({
      description: 'Where an application sends people to sign out.',
      examples: ['https://login.example/api/v1/auth/end_session'],
    }),
    token_endpoint: z.url().meta({
      description: 'Where codes, device codes and refresh tokens are exchanged for tokens.',
      examples: ['https://login.example/api/v1/auth/token'],
    }),
    device_authorization_endpoint: z
      .url()
      .optional()
      .meta({
        description: 'Where a device sign-in starts.',
        examples: ['https://login.example/api/v1/auth/device'],
      }),
    revocation_endpoint: z.url().meta({
      description: 'Where tokens are revoked.',
      examples: ['https://login.example/api/v1/auth/revoke'],
    }),
    introspection_endpoint: z.url().meta({
      description: 'Where services look tokens up.',
      examples: ['https://login.example/api/v1/auth/introspect'],
    }),
    jwks_uri: z.url().meta({
      description: 'The public keys of signed responses and feed events.',
      examples: ['https://login.example/.well-known/jwks.json'],
    }),
    scopes_supported: z.array(z.string()).meta({
      description: 'The scopes of Latchkey itself. Services declare others.',
      examples: [['profile', 'email', 'organizations', 'openid', 'offline_access']],
    }),
    grant_types_supported: z.array(z.string()).meta({
      description: 'The grant types of the token endpoint.',
      examples: [['refresh_token', 'client_credentials']],
    }),
    response_types_supported: z
      .array(z.string())
      .meta({ description: 'Only the authorization code.', examples: [['code']] }),
    response_modes_supported: z
      .array(z.string())
      .meta({ description: 'How a client gets its code.', examples: [['query', 'form_post']] }),
    code_challenge_methods_supported: z
      .array(z.string())
      .meta({ description: 'The code challenge that each request needs.', examples: [['S256']] }),
    authorization_response_iss_parameter_supported: z
      .literal(true)
      .meta({ description: 'Each response names its issuer (RFC 9207).' }),
    client_id_metadata_document_supported: z
      .literal(true)
      .optional()
      .meta({ description: 'Whether clients of some hosts may describe themselves at their client_id.' }),
    subject_types_supported: z
      .array(z.string())
      .meta({ description: 'A user has the same id for every client.', examples: [['public']] }),
    id_token_signing_alg_values_supported: z
      .array(z.string())
      .meta({ description: 'The algorithm of identity tokens.', examples: [['RS256']] }),
    claims_parameter_supported: z.literal(false).meta({ description: 'Scopes choose the claims.' }),
    request_uri_parameter_supported: z
      .literal(false)
      .meta({ description: 'Requests are made by their parameters.' }),
    token_endpoint_auth_methods_supported: z.array(z.string()).meta({
      description: 'How clients of the token endpoint identify themselves.',
      examples: [['none', 'client_secret_basic']],
    }),
    revocation_endpoint_auth_methods_supported: z.array(z.string()).meta({
      description: 'How clients of the revocation endpoint identify themselves.',
      examples: [['none']],
    }),
    introspection_endpoint_auth_methods_supported: z
      .array(z.string())
      .meta({ description: 'How services identify themselves.', examples: [['client_secret_basic']] }),
    introspection_signing_alg_values_supported: z
      .array(z.string())
      .meta({ description: 'The algorithm of signed introspection responses.', examples: [['ES256']] }),
    service_documentation: z
      .url()
      .meta({ description: 'This reference.', examples: ['https://login.example/docs'] }),
  })
  .meta({ id: 'ServerMetadata', description: 'RFC 8414 section 2' });
export type ServerMetadata = z.infer<typeof serverMetadata>;

const publicKey = z.object({
  kid: z.string().meta({
    description: 'The id of the key. Signatures name it in their header.',
    examples: ['Qm7xKp2vTz'],
  }),
  use: z.literal('sig').meta({ description: 'For signatures.' }),
  kty: z.enum(['EC', 'RSA']).meta({ description: 'The key type.', examples: ['EC'] }),
  alg: z.enum(['ES256', 'RS256']).meta({
    description:
      'The algorithm: `ES256` of introspection responses and feed events, `RS256` of identity tokens.',
    examples: ['ES256'],
  }),
  crv: z.literal('P-256').exactOptional().meta({ description: 'The curve of an EC key.' }),
  x: z
    .string()
    .exactOptional()
    .meta({
      description: 'The x coordinate of an EC key, in base64url.',
      examples: ['f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'],
    }),
  y: z
    .string()
    .exactOptional()
    .meta({
      description: 'The y coordinate of an EC key, in base64url.',
      examples: ['x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'],
    }),
  n: z
    .string()
    .exactOptional()
    .meta({
      description: 'The modulus of an RSA key, in base64url.',
      examples: ['ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAk'],
    }),
  e: z
    .string()
    .exactOptional()
    .meta({ description: 'The exponent of an RSA key, in base64url.', examples: ['AQAB'] }),
});
export type PublicKey = z.infer<typeof publicKey>;

export const keySet = z
  .object({ keys: z.array(publicKey).meta({ description: 'Every key that a valid signature can be from.' }) })
  .meta({ id: 'KeySet', description: 'RFC 7517 section 5' });
