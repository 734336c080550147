import { everything, isSameResource } from '@latchkey/contract/scope-names';
import type { CallingService, Context } from '../platform/context.ts';
import type { Tables } from '../platform/database/schema.ts';
import { inSeconds } from '../platform/timers.ts';
import { findServiceToken, type ServiceToken } from '../services/service-tokens.ts';
import { recordUse } from './authentication.ts';
import { sessionStatus } from './status.ts';
import * as store from './store.ts';
import { parseDetails, type ReadToken, readToken, withinOf } from './tokens.ts';

/** A token that would be accepted now. Times are milliseconds since 1970. */
export type ActiveToken = Exclude<
  Awaited<ReturnType<typeof findActiveToken>>,
  ActiveServiceToken | undefined
>;

type StoredSession = Awaited<ReturnType<typeof store.findSession>>[number];

/** A token of a service that acts for itself. */
export interface ActiveServiceToken extends ServiceToken {
  readonly use: 'service_token';
}

/** The session of a token or key that is good now, which it does not spend. Malformed ones cost no query. */
export async function findActiveToken(ctx: Context, token: string, service: CallingService) {
  const now = ctx.clock();
  const read = readToken(ctx, token);
  if (!read) return undefined;
  const { use, handle, sessionId } = read;
  const [session] = await store.findSession(ctx.db.read, { id: sessionId });
  if (!session) return findActiveServiceToken(ctx, read, service);
  if (session.resource !== null && !isSameResource(session.resource, service.resource)) return undefined;
  const isAccess = use !== 'refresh_token';
  if (!isAccess && handle.value !== session.generation) return undefined;
  const sessionEndsAt = isAccess ? session.expires_at : session.idle_expires_at;
  if (sessionStatus(session, now, sessionEndsAt) !== 'active') return undefined;
  if (isAccess) await recordUse(ctx, session, now);
  return {
    use,
    sessionId: session.id,
    kind: session.kind,
    ...powersOf(session),
    /** The only service that accepts the token, if any. */
    resource: session.resource,
    /** What it allows in detail, in terms of the services that read it. */
    authorizationDetails: parseDetails(session.authorization_details),
    /** The application that it was issued to, if any. */
    clientId: session.client_id,
    method: session.method,
    startedAt: session.created_at,
    issuedAt: isAccess ? issuedAt(ctx, handle.value, session) : session.rotated_at,
    endsAt: Math.min(
      isAccess ? Math.min(handle.value, session.expires_at) : session.idle_expires_at,
      session.path_ends_at ?? Number.POSITIVE_INFINITY,
    ),
  };
}

/** For whom and by whom a session acts, and what it may do. */
const powersOf = ({ user_id, scope, actor, path }: StoredSession) => ({
  userId: user_id,
  /** Scope names separated by spaces, or `*` for everything. */
  scope: scope ?? everything,
  /** The services that act for the user, the last one first. */
  actors: actor?.split(' ') ?? [],
  /** The ids of a run's ancestors, nearest first. Empty for sign-ins and keys. */
  within: path === null ? [] : withinOf(path),
});

async function findActiveServiceToken(
  ctx: Context,
  { use, handle }: ReadToken,
  service: CallingService,
): Promise<ActiveServiceToken | undefined> {
  const found = use === 'access_token' ? await findServiceToken(ctx, handle.subject) : undefined;
  const isMeantFor =
    found?.resourceServiceId === service.id && isSameResource(found.resource, service.resource);
  return isMeantFor ? { ...found, use: 'service_token' } : undefined;
}

/** An access token was issued one lifetime before its expiry, within its session's own times. */
const issuedAt = (
  ctx: Context,
  expiresAt: number,
  session: { created_at: number; rotated_at: number; token_ttl_seconds: number | null },
): number => {
  const ttlSeconds = session.token_ttl_seconds ?? ctx.config.accessTokenTtlSeconds;
  return Math.min(Math.max(expiresAt - ttlSeconds * 1000, session.created_at), session.rotated_at);
};

interface Actor {
  readonly sub: string;
  readonly act?: Actor;
}

/** The services that act for a user, the last one outermost. @see RFC 8693 section 4.1 */
export const actorOf = ([sub = '', ...earlier]: readonly string[]): Actor => ({
  sub,
  ...(earlier.length === 0 ? {} : { act: actorOf(earlier) }),
});

/** Undefined for a session of another kind, and for a run that has ended. */
export async function findRun(ctx: Context, id: string) {
  const [session] = await store.findSession(ctx.db.read, { id });
  if (!session || session.path === null || sessionStatus(session, ctx.clock()) !== 'active') return undefined;
  const endsAt = Math.min(session.idle_expires_at, session.path_ends_at ?? Number.POSITIVE_INFINITY);
  return { ...powersOf(session), endsAt };
}

/** How and when a user signed in, in milliseconds since 1970. */
export interface Authentication {
  readonly method: Tables['sessions']['method'];
  readonly startedAt: number;
}

/** Not for a code, which was approved in another session. @see RFC 8176, RFC 9470 section 6.2 */
export function authenticationClaims({ method, startedAt }: Authentication) {
  const auth_time = inSeconds(startedAt);
  switch (method) {
    case 'passkey':
      return { auth_time, amr: ['pop', 'user', 'mfa'], acr: 'phr' as const };
    case 'magic_link':
    case 'email_code':
      return { auth_time, amr: ['otp'] };
    case 'device_code':
    case 'browser_code':
    case 'key':
    case 'token_exchange':
      return {};
  }
}
