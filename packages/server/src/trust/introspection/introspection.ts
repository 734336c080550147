import { includesAny } from '@latchkey/contract/scope-names';
import { type Introspection, introspectionJwtType } from '@latchkey/contract/services';
import { findUserWithOrganizations, organizationClaims } from '../../identity/organizations/organizations.ts';
import type { CallingService, Context } from '../../platform/context.ts';
import { inSeconds } from '../../platform/timers.ts';
import {
  type ActiveServiceToken,
  type ActiveToken,
  actorOf,
  authenticationClaims,
  findActiveToken,
} from '../../sessions/active-tokens.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';

/**
 * Describes an active access token, refresh token or key to a service; any other string is only
 * `active: false`. The type hint of the request is not needed: a token's prefix names its type.
 * @see RFC 7662 section 2.2
 */
export async function introspect(
  ctx: Context,
  service: CallingService,
  token: string,
): Promise<Introspection> {
  const found = await findActiveToken(ctx, token, service);
  if (!found) return { active: false };
  if (found.use === 'service_token') return describeServiceToken(ctx, found);
  const readsUsers = service.rights.includes('users');
  const tells = (name: string) => readsUsers || includesAny(found.scope, [name]);
  if (!tells('profile') && !tells('organizations')) return describeToken(ctx, found);
  const user = await findUserWithOrganizations(ctx.db.read, found.userId);
  if (!user) return { active: false };
  return {
    ...describeToken(ctx, found),
    ...(tells('profile') ? { name: user.name } : {}),
    ...(readsUsers ? { email: user.email, email_verified: user.emailVerified } : {}),
    ...(tells('organizations') ? organizationClaims(user) : {}),
  };
}

/** Signs an introspection response, so that the service can prove it to others. @see RFC 9701 section 5 */
export const signIntrospection = (
  ctx: Context,
  keys: SigningKeys,
  service: CallingService,
  response: Introspection,
): Promise<string> =>
  keys.sign(introspectionJwtType.replace('application/', ''), {
    iss: ctx.config.baseUrl,
    aud: service.id,
    iat: inSeconds(ctx.clock()),
    token_introspection: response,
  });

/** A service that acts for itself has no session, and did not sign in. */
const describeServiceToken = (ctx: Context, token: ActiveServiceToken): Introspection => ({
  active: true,
  token_use: 'access_token',
  token_type: 'Bearer',
  iss: ctx.config.baseUrl,
  sub: token.serviceId,
  exp: inSeconds(token.endsAt),
  iat: inSeconds(token.issuedAt),
  scope: token.scope,
  aud: token.resource,
});

function describeToken(ctx: Context, token: ActiveToken) {
  return {
    active: true as const,
    token_use: token.use,
    ...(token.use === 'refresh_token' ? {} : { token_type: 'Bearer' as const }),
    iss: ctx.config.baseUrl,
    sub: token.userId,
    sid: token.sessionId,
    exp: inSeconds(token.endsAt),
    iat: inSeconds(token.issuedAt),
    session_kind: token.kind,
    scope: token.scope,
    ...(token.clientId === null ? {} : { client_id: token.clientId }),
    ...(token.resource === null ? {} : { aud: token.resource }),
    ...(token.authorizationDetails === null ? {} : { authorization_details: token.authorizationDetails }),
    ...(token.actors.length === 0 ? {} : { act: actorOf(token.actors) }),
    ...(token.kind === 'run' ? { within: [...token.within] } : {}),
    ...authenticationClaims(token),
  };
}
