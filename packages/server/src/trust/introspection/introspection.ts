import { type Introspection, introspectionJwtType } from '@latchkey/contract/services';
import type { CallingService, Context } from '../../platform/context.ts';
import { type ActiveServiceToken, type ActiveToken, findActiveToken } from '../../sessions/sessions.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';

/**
 * Describes an active access or refresh token to a service; any other string is only `active: false`. The type hint of
 * the request is not needed: a token's prefix names its type.
 * @see RFC 7662 section 2.2
 */
export async function introspect(
  ctx: Context,
  service: CallingService,
  token: string,
): Promise<Introspection> {
  const found = await findActiveToken(ctx, token, service);
  if (!found) return { active: false };
  return found.use === 'service_token' ? describeServiceToken(ctx, found) : describeToken(ctx, found);
}

/**
 * Signs an introspection response, so that the service can prove it to others.
 * @see RFC 9701 section 5
 */
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

function describeToken(ctx: Context, token: ActiveToken): Introspection {
  return {
    active: true,
    token_use: token.use,
    ...(token.use === 'access_token' ? { token_type: 'Bearer' } : {}),
    iss: ctx.config.baseUrl,
    sub: token.userId,
    sid: token.sessionId,
    exp: inSeconds(token.endsAt),
    iat: inSeconds(token.issuedAt),
    session_kind: token.kind,
    scope: token.scope,
    ...(token.resource === null ? {} : { aud: token.resource }),
    ...(token.authorizationDetails === null ? {} : { authorization_details: token.authorizationDetails }),
    ...(token.actors.length === 0 ? {} : { act: actorOf(token.actors) }),
    ...(token.kind === 'run' ? { within: [...token.within] } : {}),
    ...authenticationClaims(token),
  };
}

interface Actor {
  readonly sub: string;
  readonly act?: Actor;
}

/** The last actor outermost. @see RFC 8693 section 4.1 */
const actorOf = ([sub = '', ...earlier]: readonly string[]): Actor => ({
  sub,
  ...(earlier.length === 0 ? {} : { act: actorOf(earlier) }),
});

/**
 * When and how the user authenticated. Empty for a device code: it only proves that someone approved the device, in
 * another session and some time ago.
 * @see RFC 8176, RFC 9470 section 6.2
 */
function authenticationClaims({ method, startedAt }: ActiveToken) {
  const auth_time = inSeconds(startedAt);
  switch (method) {
    case 'passkey':
      return { auth_time, amr: ['pop', 'user', 'mfa'], acr: 'phr' as const };
    case 'magic_link':
    case 'email_code':
      return { auth_time, amr: ['otp'] };
    case 'device_code':
    case 'key':
    case 'token_exchange':
      return {};
  }
}

const inSeconds = (ms: number): number => Math.floor(ms / 1000);
