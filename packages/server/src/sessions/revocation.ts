import type { Caller, Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import { lockAccountRow } from '../platform/database/locks.ts';
import { resourceNotFound } from '../platform/errors.ts';
import type { ClientInfo } from '../platform/values/client-info.ts';
import { recordEvent } from '../security-log/events/events.ts';
import { notify } from '../security-log/notices/notices.ts';
import * as store from './store.ts';
import { readToken, sessionIdOf } from './tokens.ts';

/** Whose session is revoked, and the caller's own session unless a bare token revokes it. */
interface Revoker {
  readonly userId: string;
  readonly sessionId?: string;
}

/**
 * Revokes one session of the user, or withdraws an approved device authorization by the id of the session it would start.
 * @throws {AuthError} `not_found`, also for another user's session
 */
export async function revokeSession(
  ctx: Context,
  revoker: Revoker,
  sessionId: string,
  client: ClientInfo,
): Promise<void> {
  if (!(await endSession(ctx, revoker, sessionId, client))) throw resourceNotFound();
}

/** Revokes the caller's own session; succeeds if another request has already revoked it. */
export async function revokeOwnSession(ctx: Context, caller: Caller, client: ClientInfo): Promise<void> {
  await endSession(ctx, caller, caller.sessionId, client);
}

/**
 * Revokes the session of a refresh or access token; ignores any other string.
 * @see RFC 7009 section 2.2
 */
export async function revokeByToken(ctx: Context, token: string, client: ClientInfo): Promise<void> {
  const read = readToken(ctx, token);
  if (!read) return;
  const id = sessionIdOf(read.handle.subject);
  const [session] = await store.findSession(ctx.db.read, { id });
  if (session) await endSession(ctx, { userId: session.user_id }, id, client);
}

/** Ends a session or withdraws its approval, and records which; false if there was neither. */
const endSession = (
  ctx: Context,
  revoker: Revoker,
  sessionId: string,
  client: ClientInfo,
): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const { userId } = revoker;
    await lockAccountRow(tx, { id: userId });
    // The approval first: if a device redeems it in between, the second statement finds the session.
    const [withdrawn] = await store.withdrawApproval(tx, { session_id: sessionId, user_id: userId });
    const [revoked] = withdrawn
      ? []
      : await store.revokeSession(tx, { id: sessionId, user_id: userId, now: ctx.clock() });
    if (!withdrawn && !revoked) return false;
    const detail = withdrawn ? { reason: 'withdrawn' } : reasonOf(sessionId, revoker.sessionId);
    await recordEvent(ctx, tx, { type: 'session_revoked', userId, sessionId, client, detail });
    return true;
  });

/** Who revoked a session: the session itself, another one, or whoever presented one of its tokens. */
function reasonOf(sessionId: string, by: string | undefined): Record<string, string> {
  if (by === undefined) return { reason: 'token' };
  return by === sessionId ? { reason: 'logout' } : { reason: 'other_session', by };
}

/** The session that revokes all sessions of its user, or the operator. */
export type RevokedAllBy = { readonly sessionId: string; readonly client: ClientInfo } | 'operator';

/** Ends all sessions of a user, approved devices that have not collected their tokens included. */
export async function endAllSessions(
  ctx: Context,
  tx: Executor,
  userId: string,
  by: RevokedAllBy,
): Promise<void> {
  const [account] = await store.revokeAllSessions(tx, { user_id: userId });
  if (!account) return;
  const cause = by === 'operator' ? { detail: { by } } : by;
  await recordEvent(ctx, tx, { type: 'all_sessions_revoked', userId, ...cause });
}

/**
 * Ends a session whose refresh token was stolen and notifies the owner. If stolen tokens are presented in parallel, only
 * one call does so. Resolves once this is committed, so that the refusal never precedes it.
 */
export const endStolenSession = (
  ctx: Context,
  { userId, sessionId, client }: { userId: string; sessionId: string; client: ClientInfo },
): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    await lockAccountRow(tx, { id: userId });
    const [ended] = await store.endStolenSession(tx, { id: sessionId, user_id: userId, now: ctx.clock() });
    if (!ended) return;
    await notify(ctx, tx, { kind: 'theft_stopped', userId, sessionId, client });
    await recordEvent(ctx, tx, { type: 'refresh_theft', userId, sessionId, client });
  });
