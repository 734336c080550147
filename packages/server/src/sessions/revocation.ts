import type { Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import { lockAccountRow, lockAccountRows } from '../platform/database/locks.ts';
import { resourceNotFound } from '../platform/errors.ts';
import type { ClientInfo } from '../platform/values/client-info.ts';
import { recordEvent } from '../security-log/events/events.ts';
import { notify } from '../security-log/notices/notices.ts';
import { endServiceToken } from '../services/service-tokens/service-tokens.ts';
import { announceEnds } from './announcements.ts';
import * as apps from './apps/store.ts';
import { recordEnd } from './ending.ts';
import * as runStore from './runs/store.ts';
import { lockAccountAs } from './sessions.ts';
import * as store from './store.ts';
import { isKeyId, readToken } from './tokens.ts';

/** Whose session is revoked, and the caller's own session or the service, unless a bare token revokes it. */
interface Revoker {
  readonly userId: string;
  readonly sessionId?: string;
  readonly serviceId?: string;
}

/** Denies the approved device authorization that would start this session; false when there is none. */
export type WithdrawApproval = (
  tx: Executor,
  approval: { readonly userId: string; readonly sessionId: string },
) => Promise<boolean>;

/**
 * Revokes one session of the user, or withdraws an approved device authorization by the id of the session it would start.
 * @throws {AuthError} `not_found`, also for another user's session, and for any key but the caller itself
 */
export async function revokeSession(
  ctx: Context,
  revoker: Revoker,
  sessionId: string,
  client: ClientInfo,
  withdrawApproval: WithdrawApproval,
): Promise<void> {
  if (isKeyId(sessionId) && sessionId !== revoker.sessionId) throw resourceNotFound();
  if (!(await endSession(ctx, revoker, sessionId, client, withdrawApproval))) throw resourceNotFound();
}

/**
 * Removes one key of the user.
 * @throws {AuthError} `not_found`, also for another user's key, and for a session that is not a key
 */
export async function revokeKey(
  ctx: Context,
  revoker: Revoker,
  id: string,
  client: ClientInfo,
): Promise<void> {
  if (!isKeyId(id) || !(await endSession(ctx, revoker, id, client))) throw resourceNotFound();
}

/** Cancels the authorization of a device code, and returns the id of its session; undefined for any other string. */
export type CancelDeviceCode = (deviceCode: string, client: ClientInfo) => Promise<string | undefined>;

/**
 * Revokes the session of a refresh token, access token, key or device code, or the token of a service that acts for no
 * user; ignores any other string.
 * @see RFC 7009 section 2.2
 */
export async function revokeByToken(
  ctx: Context,
  token: string,
  client: ClientInfo,
  cancelDeviceCode: CancelDeviceCode,
): Promise<void> {
  const read = readToken(ctx, token);
  const id = read?.sessionId ?? (await cancelDeviceCode(token, client));
  if (id === undefined) return;
  const [session] = await store.findSession(ctx.db.read, { id });
  if (session) await endSession(ctx, { userId: session.user_id }, id, client);
  else if (read) await endServiceToken(ctx, read.handle.subject);
}

/**
 * Locks the accounts with active sessions of a service as an application, and with active runs that it acts in. Returns what ends these runs and records it for each account,
 * since the transaction that revokes the service takes other locks in between (`platform/database/locks.ts`).
 */
export async function endRunsOfService(
  ctx: Context,
  tx: Executor,
  serviceId: string,
): Promise<() => Promise<void>> {
  const now = ctx.clock();
  const accounts = [
    ...(await runStore.listAccountsOfService(tx, { service_id: serviceId, now })),
    ...(await apps.listAccountsOfClient(tx, { client_id: serviceId, now })),
  ];
  const userIds = [...new Set(accounts.map(({ user_id }) => user_id))];
  // Locks all accounts before the first log, in the order in which every transaction locks several.
  await lockAccountRows(tx, { ids: JSON.stringify(userIds) });
  return async () => {
    for (const user_id of userIds.toSorted()) {
      const ended = [
        ...(await apps.endSessionsOfClient(tx, { client_id: serviceId, user_id, now })),
        ...(await runStore.endRunsOfService(tx, { service_id: serviceId, user_id, now })),
      ];
      for (const row of ended)
        await recordEnd(ctx, tx, { userId: user_id }, row, { reason: 'service_revoked' });
    }
  };
}

/**
 * Ends a session or, with `withdrawApproval`, withdraws its approval, and records which; false if there was neither. A
 * session that has started has no approval left to withdraw.
 * @throws {AuthError} `invalid_token` if the session of the revoker has ended
 */
export const endSession = (
  ctx: Context,
  revoker: Revoker,
  sessionId: string,
  client: ClientInfo,
  withdrawApproval?: WithdrawApproval,
): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const { userId, sessionId: by } = revoker;
    if (by === undefined) await lockAccountRow(tx, { id: userId });
    else await lockAccountAs(ctx, tx, { userId, sessionId: by });
    // The approval first: if a device redeems it in between, the second statement finds the session.
    const withdrawn = (await withdrawApproval?.(tx, { userId, sessionId })) ?? false;
    const ending = { id: sessionId, user_id: userId, distrusted_as: null, now: ctx.clock() };
    const [revoked] = withdrawn ? [] : await store.endSession(tx, ending);
    if (!withdrawn && !revoked) return false;
    const { serviceId } = revoker;
    const detail = {
      ...(withdrawn ? { reason: 'withdrawn' } : reasonOf(sessionId, revoker)),
      ...(serviceId === undefined ? {} : { by: serviceId }),
    };
    if (revoked) await recordEnd(ctx, tx, { userId, by: revoker.sessionId, client }, revoked, detail);
    else await recordEvent(ctx, tx, { type: 'session_revoked', userId, sessionId, client, detail });
    return true;
  });

/** Who revoked a session: the session itself, another one, an operator, or the holder of one of its tokens. */
function reasonOf(sessionId: string, { sessionId: by, serviceId }: Revoker): Record<string, string> {
  if (serviceId !== undefined) return { reason: 'operator' };
  if (by === undefined) return { reason: 'token' };
  return by === sessionId ? { reason: 'logout' } : { reason: 'other_session', by };
}

/** The session that revokes all sessions of its user, `operator` for the command, or the id of an operator's service. */
export type RevokedAllBy = { readonly sessionId: string; readonly client: ClientInfo } | string;

/**
 * Ends a session whose refresh token or authorization code was stolen and notifies the owner. If stolen tokens are presented in parallel, only
 * one call does so. Resolves once this is committed, so that the refusal never precedes it.
 */
export const endStolenSession = (
  ctx: Context,
  { userId, sessionId, client }: { userId: string; sessionId: string; client: ClientInfo },
  type: 'refresh_theft' | 'code_replayed' = 'refresh_theft',
): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    await lockAccountRow(tx, { id: userId });
    const ending = { id: sessionId, user_id: userId, distrusted_as: 'stolen' as const, now: ctx.clock() };
    const [ended] = await store.endSession(tx, ending);
    if (!ended) return;
    await notify(ctx, tx, { kind: 'theft_stopped', userId, sessionId, client });
    await recordEvent(ctx, tx, { type, userId, sessionId, client });
    await announceEnds(ctx, tx, userId, [ended]);
  });
