import { everything, includesAny } from '@latchkey/contract/scope-names';
import type { TokenSet } from '@latchkey/contract/tokens';
import { lockAccountRow } from '../accounts/locks.ts';
import type { Caller, Context, Requester } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import { type PageRequest, paginate, placeOf } from '../platform/database/pagination.ts';
import { type AuthError, accountGone, challenging, invalidCredential } from '../platform/errors.ts';
import { refundingOnError } from '../platform/rate-limits/limiter.ts';
import { shown } from '../platform/values/shown.ts';
import { takeForUser } from '../security-log/events/events.ts';
import { sessionStatus, timesOfUse } from './status.ts';
import * as store from './store.ts';
import { isKeyId, parseDetails, sessionIdOf, withinOf } from './tokens.ts';

export { isKeyId, sessionIdOf };

/** An application's session, and how its user had signed in to the browser that approved it. */
export async function findAppSession(ctx: Context, id: string) {
  const [session] = await store.findSession(ctx.db.read, { id });
  if (!session?.client_id) return undefined;
  const { authenticated_at: startedAt, authenticated_by: method } = session;
  return {
    userId: session.user_id,
    clientId: session.client_id,
    scope: session.scope ?? everything,
    rotatedAt: session.rotated_at,
    authentication: startedAt === null || method === null ? undefined : { method, startedAt },
  };
}

/** How many sessions of a client are looked at, newest first. */
const maxAppSessions = 100;

/** Whether the user has an active session of this application that may do as much, at the same resource. */
export async function hasAppSession(
  ctx: Context,
  { userId, clientId }: { readonly userId: string; readonly clientId: string },
  { scope, resource }: { readonly scope: string; readonly resource: string | null },
): Promise<boolean> {
  const names = scope.split(' ');
  const active = await store.listAccessOfClient(ctx.db.read, {
    user_id: userId,
    client_id: clientId,
    now: ctx.clock(),
    limit: maxAppSessions,
  });
  return active.some(
    (session) =>
      session.resource === resource &&
      names.every((name) => includesAny(session.scope ?? everything, [name])),
  );
}

/** Adds the identity token of a session to its tokens, if it is an application's that asked for one. */
export type AddIdentityToken = (
  sessionId: string,
  tokens: TokenSet,
  nonce: string | null,
) => Promise<TokenSet>;

/** For the operator: whether an account has a session or key that was not revoked, be it expired or not. */
export const hasSessions = async (ctx: Context, userId: string): Promise<boolean> =>
  (await store.findUnrevokedSession(ctx.db.read, { user_id: userId })).length > 0;

/** How many active sessions and keys last got a token, or used their cookie, before `then`. */
export async function countUnchangedSince(ctx: Context, then: number) {
  const rows = await store.countUnchangedSince(ctx.db.read, { now: ctx.clock(), then });
  const count = (isKey: boolean) =>
    rows.filter(({ kind }) => (kind === 'key') === isKey).reduce((sum, row) => sum + Number(row.count), 0);
  return { sessions: count(false), keys: count(true) };
}

/**
 * Locks the caller's account, then requires the caller's session to be active, as every change of a user
 * begins. What ends a session locks the account, too, so no change commits after that was answered.
 * @throws {AuthError} `invalid_token`
 */
export async function lockAccountAs(
  ctx: Context,
  tx: Executor,
  { userId, sessionId }: Pick<Caller, 'userId' | 'sessionId'>,
) {
  // Pipelined, in this order.
  const [[account], [session]] = await Promise.all([
    lockAccountRow(tx, { id: userId }),
    store.findSessionStatus(tx, { id: sessionId }),
  ]);
  // Whether the idle timeout counts was decided by the credential: an access token may outlive it.
  const status = session ? sessionStatus(session, ctx.clock(), session.expires_at) : 'unknown';
  if (status !== 'active') throw invalidCredential(status);
  if (!account) throw accountGone();
  return account;
}

/**
 * Makes one change to an account and counts it against the rate limit for changes; a change that fails does
 * not count. Returns the result and the rate limit headers for the response.
 * @throws {AuthError} `rate_limited`, and whatever `change` throws
 */
export async function limitingChanges<Changed>(
  ctx: Context,
  { caller, client }: Requester,
  change: () => Promise<Changed>,
): Promise<{ body: Changed; headers: Record<string, string> }> {
  const limit = { limit: 'account_changes', subject: caller.userId, isReported: true } as const;
  const counted = await takeForUser(ctx, { ...caller, client }, limit);
  return { body: await refundingOnError(counted, change), headers: counted.headers };
}

/** One page of a user's active sessions, or of one kind, newest first. `sessionId` is the current one, if the user asks. */
export async function listSessions(
  ctx: Context,
  { userId, sessionId }: { readonly userId: string; readonly sessionId?: string },
  { kind = 'all', ...page }: PageRequest & { readonly kind?: keyof typeof store.listSessions | undefined },
) {
  const rows = await store.listSessions[kind](ctx.db.read, {
    user_id: userId,
    ...timesOfUse(ctx),
    ...placeOf(page, { time: Number.MAX_SAFE_INTEGER, id: 'ses_' }),
  });
  const { entries, next_cursor } = paginate(rows, page.limit, ({ created_at: time, id }) => ({ time, id }));
  const sessions = entries.map((row) => ({
    ...shown(row, ['id', 'kind', 'method', 'client_name', 'device_name', 'ip_address', 'user_agent']),
    ...shown(row, ['created_at', 'last_used_at']),
    current: row.id === sessionId,
    scope: row.scope ?? everything,
    resource: row.resource,
    ...(row.client_id === null ? {} : { client_id: row.client_id }),
    ...(row.path === null
      ? {}
      : { within: withinOf(row.path), authorization_details: parseDetails(row.authorization_details) }),
  }));
  return { sessions, next_cursor };
}

/**
 * Requires a browser session whose sign-in is recent.
 * @throws {AuthError} `insufficient_user_authentication`
 * @see RFC 9470 section 3
 */
export function requireRecentSignIn(ctx: Context, caller: Caller): void {
  const { recentLoginTtlSeconds } = ctx.config;
  if (!isSignedInWithin(ctx, caller, recentLoginTtlSeconds)) throw signInRequired(recentLoginTtlSeconds);
}

/** Whether the caller is a browser session whose sign-in is at most this old. */
export const isSignedInWithin = (ctx: Context, caller: Caller, maxAgeSeconds: number): boolean =>
  caller.kind === 'browser' && ctx.clock() - caller.authenticatedAt <= maxAgeSeconds * 1000;

/** The error for a sign-in that is too old. */
export const signInRequired = (maxAgeSeconds: number): AuthError =>
  insufficientAuthentication('This operation requires a recent sign-in by passkey or email.', maxAgeSeconds);

/**
 * Requires a browser session: some decisions belong to a person in a browser, not to a program.
 * @throws {AuthError} `insufficient_user_authentication`
 */
export function requireBrowserSession(ctx: Context, caller: Caller): void {
  if (caller.kind === 'browser') return;
  throw insufficientAuthentication(
    'This operation requires a session that was started in a browser.',
    ctx.config.recentLoginTtlSeconds,
  );
}

/** A caller who has to do more to prove who they are. */
export const insufficientAuthentication = (description: string, maxAge: number): AuthError =>
  challenging('insufficient_user_authentication', description, `, max_age="${maxAge}"`);
