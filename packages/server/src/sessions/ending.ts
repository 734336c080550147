import { everything } from '@latchkey/contract/scope-names';
import { lockAccountRow, lockAccountRows } from '../accounts/locks.ts';
import type { Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import type { Tables } from '../platform/database/schema.ts';
import { resourceNotFound } from '../platform/errors.ts';
import { type ClientInfo, noClient } from '../platform/values/client-address.ts';
import { recordEvent, recordOncePerHourIn } from '../security-log/events/events.ts';
import {
  type CredentialChange,
  type FeedEvent,
  writeFeedEvents,
} from '../security-log/feed-events/feed-events.ts';
import { notify } from '../security-log/notices/notices.ts';
import { endService, noSuchService } from '../services/service-keys.ts';
import { endServiceToken } from '../services/service-tokens.ts';
import { lockAccountAs } from './sessions.ts';
import * as store from './store.ts';
import { isKeyId, readToken, withinOf } from './tokens.ts';

export const { disownSessions, listInUse } = store;

/** Whose session is revoked, and the caller's own session or the service, unless a bare token revokes it. */
export interface Revoker {
  readonly userId: string;
  readonly sessionId?: string;
  readonly serviceId?: string;
}

/** Removes one key of the user. @throws {AuthError} `not_found`, also for a session that is not a key */
export async function revokeKey(ctx: Context, revoker: Revoker, id: string, client: ClientInfo) {
  if (!isKeyId(id) || !(await endSession(ctx, revoker, id, client))) throw resourceNotFound();
}

/** Ends what a refresh token, access token, key or token of a service is of. @see RFC 7009 section 2.2 */
export async function endByToken(ctx: Context, token: string, client: ClientInfo): Promise<void> {
  const read = readToken(ctx, token);
  if (read && !(await endById(ctx, read.sessionId, client))) await endServiceToken(ctx, read.handle.subject);
}

/** Ends a session for the holder of one of its tokens, or of what they come from; false if there is none. */
export async function endById(ctx: Context, id: string, client: ClientInfo): Promise<boolean> {
  const [session] = await store.findSession(ctx.db.read, { id });
  if (session) await endSession(ctx, { userId: session.user_id }, id, client);
  return session !== undefined;
}

/** How many sessions of a revoked service one transaction ends. */
const endedAtOnce = 500;

/**
 * Revokes a service at once, on every node, and ends its sessions and runs. Its scopes and resource can no
 * longer be requested or declared. A call that was interrupted can be repeated.
 * @throws {AuthError} `not_found` when there is no such service, or it is already revoked
 */
export async function revokeService(ctx: Context, id: string): Promise<void> {
  // Committed first: from then on no lookup accepts the service, its sessions and its runs, however many they
  // are, nor a run that was being made. The rest records their ends.
  const wasActive = await ctx.db.transaction((tx) => endService(ctx, tx, id));
  let isDone = await endSomeOfService(ctx, id);
  if (!wasActive && isDone) throw noSuchService(id);
  while (!isDone) isDone = await endSomeOfService(ctx, id);
}

/** Ends a batch of the open sessions and runs of a revoked service; true if there were none left. */
const endSomeOfService = (ctx: Context, serviceId: string): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const some = { service_id: serviceId, now: ctx.clock(), limit: endedAtOnce };
    const accounts = await store.listAccountsOfService(tx, some);
    const user_ids = JSON.stringify(accounts.map(({ user_id }) => user_id));
    // All of them before the first log (`accounts/locks.ts`).
    await lockAccountRows(tx, { ids: user_ids });
    const ended = await store.endSessionsOfService(tx, { ...some, user_ids });
    for (const [userId, rows] of Map.groupBy(ended, ({ user_id }) => user_id))
      await recordEnds(ctx, tx, { userId }, rows, { reason: 'service_revoked' });
    return accounts.length === 0;
  });

/** Ends a session, if there is one. @throws {AuthError} `invalid_token` if the revoker's own has ended */
export const endSession = (ctx: Context, revoker: Revoker, sessionId: string, client: ClientInfo) =>
  ctx.db.transaction(async (tx) => {
    const { userId, sessionId: by } = revoker;
    await lockAccountOfRevoker(ctx, tx, revoker);
    const ending = { id: sessionId, user_id: userId, distrusted_as: null, now: ctx.clock() };
    const [ended] = await store.endSession(tx, ending);
    if (!ended) return false;
    await recordEnds(ctx, tx, { userId, by, client }, [ended], reasonOf(sessionId, revoker));
    return true;
  });

/** @throws {AuthError} `invalid_token` if the session of the revoker has ended */
export async function lockAccountOfRevoker(ctx: Context, tx: Executor, { userId, sessionId }: Revoker) {
  if (sessionId === undefined) await lockAccountRow(tx, { id: userId });
  else await lockAccountAs(ctx, tx, { userId, sessionId });
}

/** Who revoked a session: an operator, the holder of one of its tokens, the session itself or another one. */
function reasonOf(sessionId: string, { sessionId: by, serviceId }: Revoker): Record<string, string> {
  if (serviceId !== undefined) return { reason: 'operator', by: serviceId };
  if (by === undefined) return { reason: 'token' };
  return by === sessionId ? { reason: 'logout' } : { reason: 'other_session', by };
}

/**
 * Ends a session whose refresh token or authorization code was stolen and notifies the owner. If
 * stolen tokens are presented in parallel, only one call does so. Resolves once this is committed, so
 * that the refusal never precedes it.
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
    const event = { userId, sessionId, client };
    await notify(ctx, tx, { ...event, kind: 'theft_stopped', clientName: ended.client_name });
    await recordEvent(ctx, tx, { ...event, type });
    await announceEnds(ctx, tx, userId, [ended]);
  });

export type EndedSession = Awaited<ReturnType<typeof store.listInUse>>[number];

type EndedRow = Awaited<ReturnType<typeof store.endSession>>[number];

/** Who ended a session: `by` is the session that did, if one did. */
interface Ender {
  readonly userId: string;
  readonly by?: string | undefined;
  readonly client?: ClientInfo;
}

type Detail = Readonly<Record<string, string>>;

/** Records and announces ends in one account, in the transaction that ended them. Call it last. */
export async function recordEnds(
  ctx: Context,
  tx: Executor,
  { userId, by, client = noClient }: Ender,
  rows: readonly EndedRow[],
  detail: Detail,
): Promise<void> {
  for (const row of rows) {
    if (row.kind === 'key') await recordRemovedKey(ctx, tx, { userId, by, client }, row, detail);
    else if (row.kind === 'run') await recordRun(ctx, tx, 'run_ended', { userId, client }, row, detail);
    else await recordEvent(ctx, tx, { type: 'session_revoked', userId, sessionId: row.id, client, detail });
  }
  await announceEnds(ctx, tx, userId, rows);
}

/**
 * Records that a run was made, or that it ended by itself and not with an ancestor. Programs make thousands of
 * runs, and runs within each, so this is recorded at most once an hour for each sign-in or key, depth below it,
 * service and scope.
 */
export async function recordRun(
  ctx: Context,
  tx: Executor,
  type: 'run_started' | 'run_ended',
  cause: { readonly userId: string; readonly client: ClientInfo },
  run: Omit<EndedRow, 'kind'>,
  more: Detail,
): Promise<void> {
  const scope = run.scope ?? '';
  const names = scope.split(' ').toSorted().join(',');
  const ancestors = withinOf(run.path ?? '[]');
  const subject = [ancestors.at(-1), ancestors.length, run.service_id ?? '-', names].join(' ');
  const detail = {
    scope,
    ...(run.within_session_id === null ? {} : { within: run.within_session_id }),
    ...(run.service_id === null ? {} : { service: run.service_id, service_name: run.client_name ?? '' }),
    ...(run.resource === null ? {} : { resource: run.resource }),
    ...more,
  };
  const event = { ...cause, type, sessionId: run.id, detail };
  // Nothing that an operator does goes unseen.
  if (more['reason'] === 'operator') await recordEvent(ctx, tx, event);
  else await recordOncePerHourIn(ctx, tx, event, subject);
}

/** A stored key, as events and notices describe it. */
export type KeyRow = Pick<Tables['sessions'], 'id' | 'client_name' | 'scope' | 'resource'>;

/**
 * Notifies the owner that a key was removed and records it: `by` the session that removed it, or by the
 * caller that presented the key itself. A `reason` is recorded only where the key ended itself.
 */
async function recordRemovedKey(
  ctx: Context,
  tx: Executor,
  remover: { readonly userId: string; readonly by: string | undefined; readonly client: ClientInfo },
  key: KeyRow,
  { reason }: Readonly<Record<string, string>>,
): Promise<void> {
  const { userId, client, by: sessionId = key.id } = remover;
  await notify(ctx, tx, { kind: 'key_removed', userId, sessionId, client, keyName: key.client_name });
  const detail = { ...keyDetail(key), ...(sessionId === key.id && reason !== undefined ? { reason } : {}) };
  await recordEvent(ctx, tx, { type: 'key_removed', userId, sessionId, client, detail });
}

/** A key, as the security log shows it. */
export const keyDetail = ({ id, client_name, scope, resource }: KeyRow): Record<string, string> => ({
  key_id: id,
  name: client_name ?? '',
  scope: scope ?? everything,
  ...(resource === null ? {} : { resource }),
});

/** What services read about a key that was made or has ended. */
export const keyEvent = (userId: string, sessionId: string, change_type: CredentialChange): FeedEvent => ({
  type: 'credential-change',
  userId,
  sessionId,
  detail: { credential_type: 'key', change_type },
});

/**
 * Announces to services that sessions, keys and runs have ended, in the transaction that ends them. Call it
 * last. What is within another one of them, or within one that ends alone, needs no announcement of its own.
 */
export async function announceEnds(
  ctx: Context,
  tx: Executor,
  userId: string,
  ended: readonly Pick<EndedRow, 'id' | 'kind' | 'within_session_id'>[],
): Promise<void> {
  const ids = new Set(ended.map(({ id }) => id));
  const outermost = ended.filter(({ within_session_id }) => !ids.has(within_session_id ?? ''));
  const eventOf = ({ id, kind }: (typeof ended)[number]): FeedEvent =>
    kind === 'key' ? keyEvent(userId, id, 'delete') : { type: 'session-revoked', userId, sessionId: id };
  await writeFeedEvents(ctx, tx, outermost.map(eventOf));
}
