import { z } from 'zod';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { described, model, shown, shownOrNull } from './fields.ts';
import { everything } from './scope-names.ts';

/** The service's own scopes, with the sentence that the user approves. */
export const ownScopes = {
  profile: 'See your name, picture, language and time zone',
  email: 'See your email address',
  organizations: 'See which organizations you belong to, and your role in each',
  /** Sent by every OpenID client. */
  openid: 'Sign you in',
  /** Sent by clients that want a refresh token, which they get anyway. */
  offline_access: 'Stay signed in',
  /** For identity tokens of runs. */
  identity: 'Prove to other systems that it acts for you',
} as const;
export type OwnScope = keyof typeof ownScopes;

/** Those that clients find in lists. Some clients ask for every scope that is listed. */
export const listedScopes = (Object.keys(ownScopes) as OwnScope[]).filter((name) => name !== 'identity');

/** What a service key may do besides introspecting tokens. */
export const serviceRights = ['delegate', 'feed', 'operate', 'organizations', 'users'] as const;
export type ServiceRight = (typeof serviceRights)[number];

/** Separated by single spaces. Only the length is checked: every other error is `invalid_scope`. */
export const scopeText = described(
  z.string().max(fieldLimits.scope),
  `Up to ${fieldLimits.scopes} scopes separated by spaces, or ${everything} for everything the user may do.`,
  'profile email',
);

/** The service of a token. Only the length is checked: every other error is `invalid_target`. */
export const resourceText = described(
  z.string().max(fieldLimits.resource),
  'The URI of the only service that accepts the token (RFC 8707).',
  examples.resource,
);

/** A scope as the user reads it. */
export const describedScope = model('Scope', 'A scope in words.', {
  name: shown('The name of the scope.', 'profile'),
  description: shown('What it allows, in one sentence. Empty if it allows nothing.', ownScopes.profile),
  service: shownOrNull('The name of the service that declared it. Null for scopes of Latchkey itself.', null),
});
export type DescribedScope = z.infer<typeof describedScope>;

/** What a device or program asks for, as its user reads it before approving. */
export const requestedAccess = {
  scope: shown('What is asked for. `*` is everything the user may do.', 'profile email'),
  scopes: z.array(describedScope).meta({ description: 'The scopes in words.' }),
  resource: shownOrNull('The only service that accepts the tokens. Null if any does.', examples.resource),
  resource_service: shownOrNull('The name of the service that declares the resource.', 'Projects'),
};

/** What a token allows in detail, in terms of the services that read it. @see RFC 9396 section 2 */
export const authorizationDetails = z
  .array(z.looseObject({ type: shown('The type. It decides what other members mean.', 'project_access') }))
  .meta({
    id: 'AuthorizationDetails',
    description: 'What the token allows in detail, in terms of the services that read it (RFC 9396).',
    examples: [[{ type: 'project_access', projects: ['engine'] }]],
  });
export type AuthorizationDetails = z.infer<typeof authorizationDetails>;
