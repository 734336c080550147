import { z } from 'zod';
import { authorizationDetails } from './authorization-details.ts';
import { fieldLimits } from './field-limits.ts';
import { opaque, text } from './fields.ts';
import { organizationRoles } from './organizations.ts';
import { sessionKinds } from './sessions.ts';

/** The media type of a signed introspection response. @see RFC 9701 section 4 */
export const introspectionJwtType = 'application/token-introspection+jwt';

/** Accepts any string as the token. The hint is accepted but not needed. @see RFC 7662 section 2.1 */
export const introspectionRequest = z.object({
  token: opaque(fieldLimits.bodyBytes),
  token_type_hint: text(100).optional(),
});

/** What a service key may do besides introspecting tokens. */
export const serviceRights = ['delegate', 'feed', 'organizations', 'users'] as const;
export type ServiceRight = (typeof serviceRights)[number];

const seconds = (description: string) => z.int().meta({ description });

/** Runs are at most three deep, so three services can act in turn. The one that acts now is outermost. */
const firstActor = z.object({ sub: z.string() });
const secondActor = z.object({ sub: z.string(), act: firstActor.optional() });
const actor = z
  .object({ sub: z.string(), act: secondActor.optional() })
  .meta({ id: 'Actor', description: 'RFC 8693 section 4.1' });

/**
 * What a service learns about an active token. Check `token_use`: a service must accept access tokens only. A refresh
 * token has no `token_type`.
 * @see RFC 7662 section 2.2, RFC 9470 section 6.2
 */
export const activeToken = z
  .object({
    active: z.literal(true),
    token_use: z.enum(['access_token', 'refresh_token', 'key']),
    token_type: z
      .literal('Bearer')
      .optional()
      .meta({ description: 'Only present for access tokens and keys.' }),
    scope: z.string().meta({ description: 'What the token allows. `*` is everything the user may do.' }),
    aud: z.string().optional().meta({ description: 'The resource that the token is bound to, if any.' }),
    name: z
      .string()
      .optional()
      .meta({ description: "The user's name, if the scope includes profile or the service may read users." }),
    email: z.string().optional().meta({ description: 'The email address, if the service may read users.' }),
    email_verified: z.boolean().optional(),
    organizations: z
      .array(z.object({ id: z.string(), slug: z.string(), role: z.enum(organizationRoles) }))
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
    within: z.array(z.string()).optional().meta({
      description:
        'The ids of the sessions and the key that a run is within, nearest first. It ends with each of them.',
    }),
    iss: z.string(),
    sub: z
      .string()
      .meta({ description: 'The user id, or the service id of a service that acts for no user.' }),
    sid: z
      .string()
      .optional()
      .meta({ description: 'The id of the session or key. A service that acts for no user has none.' }),
    exp: seconds('When the token expires, in seconds since 1970.'),
    iat: seconds('When the token was issued, in seconds since 1970.'),
    session_kind: z
      .enum([...sessionKinds, 'key'])
      .optional()
      .meta({ description: 'Omitted together with sid.' }),
    auth_time: seconds(
      'When the user signed in, in seconds since 1970. Omitted for device sessions, keys and runs, which never count as recent.',
    ).optional(),
    amr: z
      .array(z.string())
      .optional()
      .meta({ description: 'How the user signed in, as RFC 8176 values. Omitted together with auth_time.' }),
    acr: z.literal('phr').optional().meta({
      description: 'Phishing-resistant (OpenID EAP ACR Values): the user signed in with a passkey.',
    }),
  })
  .meta({ id: 'ActiveToken', description: 'RFC 7662 section 2.2' });

const inactiveToken = z.object({ active: z.literal(false) }).meta({ id: 'InactiveToken' });

export const introspection = z.union([activeToken, inactiveToken]);
export type Introspection = z.infer<typeof introspection>;

/** @see RFC 8414 section 2, RFC 8628 section 4 */
export const serverMetadata = z
  .object({
    issuer: z.url(),
    token_endpoint: z.url(),
    device_authorization_endpoint: z.url(),
    revocation_endpoint: z.url(),
    introspection_endpoint: z.url(),
    jwks_uri: z.url(),
    scopes_supported: z
      .array(z.string())
      .meta({ description: 'The scopes of Latchkey itself and those that services declare.' }),
    grant_types_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
    introspection_endpoint_auth_methods_supported: z.array(z.string()),
    introspection_signing_alg_values_supported: z.array(z.string()),
    service_documentation: z.url(),
  })
  .meta({ id: 'ServerMetadata', description: 'RFC 8414 section 2' });
export type ServerMetadata = z.infer<typeof serverMetadata>;

const publicKey = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  alg: z.literal('ES256'),
  use: z.literal('sig'),
});
export type PublicKey = z.infer<typeof publicKey>;

export const keySet = z
  .object({ keys: z.array(publicKey) })
  .meta({ id: 'KeySet', description: 'RFC 7517 section 5' });
