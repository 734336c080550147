import type { ActiveToken, Actor, AuthorizationDetail, TokenOrganization } from '../active-token.ts';

/** Who sent a request, and what their token may do. It holds no secrets, so it may be logged. */
export interface Caller {
  /** `service` for a service that acts for itself, with a token of the client credentials grant. */
  readonly kind: 'user' | 'service';
  /** The user's ID (`usr_…`), or the service's (`svc_…`). */
  readonly subject: string;
  /** The ID of the session or key. A service that acts for itself has none. */
  readonly sessionId: string | undefined;
  readonly tokenUse: 'access_token' | 'key';
  /** The names that the token holds; `*` is everything the user may do. Check with `hasScope`. */
  readonly scopes: readonly string[];
  /** The resource that the token is bound to. */
  readonly audience: string | undefined;
  /** When the token expires, in seconds since 1970. */
  readonly expiresAt: number;
  /** When the user signed in, in seconds since 1970. Undefined for device sign-ins, keys and runs. */
  readonly authTime: number | undefined;
  /** How the user signed in. @see RFC 8176 */
  readonly amr: readonly string[];
  /** `phr` for a sign-in with a passkey. @see RFC 9470 section 6.2 */
  readonly acr: string | undefined;
  /** Undefined without the scope `profile`, unless this service has the right `users`. */
  readonly name: string | undefined;
  /** Undefined unless this service has the right `users`, and so is `emailVerified`. */
  readonly email: string | undefined;
  readonly emailVerified: boolean | undefined;
  /** The first 100. Undefined without the scope `organizations`, unless this service has the right `users`. */
  readonly organizations: readonly TokenOrganization[] | undefined;
  /** Whether the user has more organizations than that, so that a missing one proves nothing. */
  readonly organizationsTruncated: boolean;
  /** The service that acts for the user, if one does. @see RFC 8693 section 4.1 */
  readonly actor: Actor | undefined;
  /** The IDs of the sessions and keys that a run is within, the nearest first. */
  readonly within: readonly string[];
  /** The restrictions of the token, all of types that the program heeds. @see RFC 9396 */
  readonly authorizationDetails: readonly AuthorizationDetail[];
  /** The introspection response, by the names on the wire. */
  readonly claims: ActiveToken;
  /** Whether the token holds this scope. `*` holds every one. */
  hasScope(name: string): boolean;
  /** The role in an organization, by its ID or slug; undefined if there is none in `organizations`. */
  roleIn(organization: string): TokenOrganization['role'] | undefined;
}

export function callerOfToken(token: ActiveToken): Caller {
  const scopes = token.scope?.split(' ').filter(Boolean) ?? [];
  return {
    kind: token.sub.startsWith('svc_') ? 'service' : 'user',
    subject: token.sub,
    sessionId: token.sid,
    tokenUse: token.token_use ?? 'access_token',
    scopes,
    audience: token.aud,
    expiresAt: token.exp,
    authTime: token.auth_time,
    amr: token.amr ?? [],
    acr: token.acr,
    name: token.name,
    email: token.email,
    emailVerified: token.email_verified,
    organizations: token.organizations,
    organizationsTruncated: token.organizations_truncated ?? false,
    actor: token.act,
    within: token.within ?? [],
    authorizationDetails: token.authorization_details ?? [],
    claims: token,
    hasScope: (name) => scopes.includes('*') || scopes.includes(name),
    // A slug has no underscore and an ID begins with `org_`, so neither can be taken for the other.
    roleIn: (organization) =>
      token.organizations?.find(({ id, slug }) => id === organization || slug === organization)?.role,
  };
}
