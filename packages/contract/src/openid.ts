import { z } from 'zod';
import { at, auth, define } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { described, expiresIn, field, flag, int, model, shown, text } from './fields.ts';
import type { FailedPage } from './page-data.ts';
import { organizationsTruncated, userOrganizations } from './services.ts';

/** Where an application sends people to sign out. It leads to a page. @see OpenID Connect RP-Initiated Logout section 2 */
export const endSessionPath = `${auth}/end_session`;

const runIdentity = model('RunIdentity', 'Proves to another system whom a run acts for.', {
  id_token: shown('The identity token.', examples.idToken),
  expires_in: expiresIn('the identity token', 900),
});
export type RunIdentity = z.infer<typeof runIdentity>;

/** What an application learns about its user, as the scopes of its tokens allow. @see OpenID Connect Core section 5.1 */
export const userinfo = model('Userinfo', 'OpenID Connect Core section 5.3.2', {
  sub: shown('The user id.', examples.userId),
  name: shown('The name, with the scope profile.', 'Ada Lovelace').optional(),
  picture: shown('The picture, with the scope profile.', 'https://images.example/ada.png').optional(),
  locale: shown('The language, with the scope profile.', 'en').optional(),
  zoneinfo: shown('The time zone, with the scope profile.', 'Europe/London').optional(),
  updated_at: int(
    'When the profile last changed, in seconds since 1970, with the scope profile.',
    examples.seconds,
  ).optional(),
  email: shown('The email address, with the scope email.', examples.email).optional(),
  email_verified: flag('Whether the user receives email there, with the scope email.', true).optional(),
  organizations: userOrganizations('with the scope organizations'),
  organizations_truncated: organizationsTruncated,
});
export type Userinfo = z.infer<typeof userinfo>;

/** @see OpenID Connect RP-Initiated Logout section 2 */
export const signOutParameters = z.object({
  id_token_hint: field(
    'An identity token of the application, expired or not.',
    examples.idToken,
    fieldLimits.idToken,
  ),
  client_id: field('The id of the application.', examples.serviceId, fieldLimits.redirectUri),
  post_logout_redirect_uri: field(
    'Where to go afterwards: a sign-out redirect URI of the application.',
    'https://grafana.example/login',
    fieldLimits.redirectUri,
  ),
  state: field('Returned with the redirect.', 'af0ifjsldkj', fieldLimits.state),
});
export type SignOutParameters = z.infer<typeof signOutParameters>;

export const signedOut = model('SignedOut', 'The user is signed out.', {
  redirect: described(
    z.url().nullable(),
    'Where to send the user. Null if the application named no address.',
    'https://grafana.example/login?state=af0ifjsldkj',
  ),
});
export type SignedOut = z.infer<typeof signedOut>;

/** What the HTML of the page for signing out says about the request: `refused` is for one that ends nothing. */
export type SignOutPage =
  | FailedPage
  | { readonly outcome: 'refused'; readonly message: string }
  | {
      readonly outcome: 'valid';
      readonly parameters: SignOutParameters;
      /** Whose identity token the application sent. */
      readonly userId?: string | undefined;
      /** Where to go afterwards. */
      readonly redirect: string | null;
    };

const userinfoEndpoint = {
  summary: 'Returns what an application may know about its user',
  notes: 'The scope must name openid, which `*` does not include. See OpenID Connect Core section 5.3.',
  access: 'bearer',
  scopes: ['openid'],
  response: userinfo,
} as const;

export const openidEndpoints = {
  getUserinfo: define({
    ...userinfoEndpoint,
    ...at('authorization', 'get', '/userinfo'),
    title: 'Get the user of an application',
  }),
  postUserinfo: define({
    ...userinfoEndpoint,
    ...at('authorization', 'post', '/userinfo'),
    title: 'Get the user of an application by POST',
  }),
  issueIdToken: define({
    ...at('sessions', 'post', '/id_token'),
    title: 'Get an identity token of a run',
    summary: 'Issues a token with which a run proves to another system whom it acts for',
    notes:
      'For systems that trust this service as an OpenID Connect issuer. The token must be that of a run whose scope names identity. The subject is `run:` and the user id, with `:` and the service id if a service acts in the run. The token is valid for at most 15 minutes and never longer than the run.',
    access: 'bearer',
    scopes: ['identity'],
    body: z.object({
      audience: described(
        text(fieldLimits.audience),
        'The system that the token is for: one that the operator lists.',
        'sts.cloud.example',
      ),
    }),
    response: runIdentity,
    errors: { invalid_target: 'The operator does not list this audience.' },
  }),
  confirmSignOut: define({
    ...at('authorization', 'post', '/end_session/confirm'),
    title: 'Confirm signing out',
    summary: "Ends the browser's session and the session of the requesting application",
    notes:
      'For the page that an application sends people to (OpenID Connect RP-Initiated Logout). The session of the application is the one that its identity token names, if it belongs to the same user or no user is signed in. A cookie, or no credential, is accepted only from pages of this service.',
    access: 'optional',
    ownOriginOnly: true,
    body: signOutParameters,
    bodyOptional: true,
    response: signedOut,
    errors: {
      invalid_request: 'The identity token, the client or its redirect URI is wrong. Nothing has ended.',
    },
  }),
} as const;
