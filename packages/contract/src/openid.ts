import { z } from 'zod';
import { auth } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { expiresIn, opaque, text } from './fields.ts';
import { organizationRoles } from './organizations.ts';

/** Where an application sends people to sign out. It leads to a page. @see OpenID Connect RP-Initiated Logout section 2 */
export const endSessionPath = `${auth}/end_session`;

/** Who an identity token of a run is for. */
export const runIdentityRequest = z.object({
  audience: text(fieldLimits.audience).meta({
    description: 'The system that the token is for: one that the operator lists.',
    examples: ['sts.cloud.example'],
  }),
});

export const runIdentity = z
  .object({
    id_token: z.string().meta({ description: 'The identity token.', examples: [examples.idToken] }),
    expires_in: expiresIn('the identity token', 900),
  })
  .meta({ id: 'RunIdentity', description: 'Proves to another system whom a run acts for.' });
export type RunIdentity = z.infer<typeof runIdentity>;

/** What an application learns about its user, as the scopes of its tokens allow. @see OpenID Connect Core section 5.1 */
export const userinfo = z
  .object({
    sub: z.string().meta({ description: 'The user id.', examples: [examples.userId] }),
    name: z
      .string()
      .optional()
      .meta({ description: 'The name, with the scope profile.', examples: ['Ada Lovelace'] }),
    picture: z
      .string()
      .optional()
      .meta({
        description: 'The picture, with the scope profile.',
        examples: ['https://images.example/ada.png'],
      }),
    locale: z
      .string()
      .optional()
      .meta({ description: 'The language, with the scope profile.', examples: ['en'] }),
    zoneinfo: z
      .string()
      .optional()
      .meta({ description: 'The time zone, with the scope profile.', examples: ['Europe/London'] }),
    updated_at: z
      .int()
      .optional()
      .meta({
        description: 'When the profile was last changed, in seconds since 1970, with the scope profile.',
        examples: [examples.seconds],
      }),
    email: z
      .string()
      .optional()
      .meta({ description: 'The email address, with the scope email.', examples: [examples.email] }),
    email_verified: z
      .boolean()
      .optional()
      .meta({
        description: 'Whether the user receives email there, with the scope email.',
        examples: [true],
      }),
    organizations: z
      .array(
        z.object({
          id: z
            .string()
            .meta({ description: 'The id of the organization.', examples: [examples.organizationId] }),
          slug: z.string().meta({ description: 'Its short name.', examples: ['analytical-engines'] }),
          role: z.enum(organizationRoles).meta({ description: 'The role in it.', examples: ['admin'] }),
        }),
      )
      .optional()
      .meta({
        description: 'The first 100 organizations, the personal one first, with the scope organizations.',
      }),
    organizations_truncated: z
      .literal(true)
      .optional()
      .meta({ description: 'The user belongs to more organizations than listed.' }),
  })
  .meta({ id: 'Userinfo', description: 'OpenID Connect Core section 5.3.2' });
export type Userinfo = z.infer<typeof userinfo>;

/** @see OpenID Connect RP-Initiated Logout section 2 */
export const signOutParameters = z.object({
  id_token_hint: opaque(fieldLimits.idToken)
    .optional()
    .meta({
      description: 'An identity token of the application, expired or not.',
      examples: [examples.idToken],
    }),
  client_id: opaque(fieldLimits.redirectUri)
    .optional()
    .meta({ description: 'The id of the application.', examples: [examples.serviceId] }),
  post_logout_redirect_uri: opaque(fieldLimits.redirectUri)
    .optional()
    .meta({
      description: 'Where to go afterwards: a sign-out redirect URI of the application.',
      examples: ['https://grafana.example/login'],
    }),
  state: opaque(fieldLimits.state)
    .optional()
    .meta({ description: 'Returned with the redirect.', examples: ['af0ifjsldkj'] }),
});
export type SignOutParameters = z.infer<typeof signOutParameters>;

export const signedOut = z
  .object({
    redirect: z
      .url()
      .nullable()
      .meta({
        description: 'Where to send the user. Null if the application named no address.',
        examples: ['https://grafana.example/login?state=af0ifjsldkj'],
      }),
  })
  .meta({ id: 'SignedOut', description: 'The user is signed out.' });
export type SignedOut = z.infer<typeof signedOut>;

/** What the HTML of the page for signing out says about the request: `refused` is for one that ends nothing. */
export type SignOutPage =
  | { readonly outcome: 'refused'; readonly message: string }
  | { readonly outcome: 'valid'; readonly parameters: SignOutParameters };
