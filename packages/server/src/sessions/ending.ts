import { everything } from '@latchkey/contract/scopes';
import type { Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import type { Tables } from '../platform/database/schema.ts';
import { type ClientInfo, noClient } from '../platform/values/client-info.ts';
import { recordEvent, recordOncePerHourIn } from '../security-log/events/events.ts';
import { notify } from '../security-log/notices/notices.ts';
import { announceEnds } from './announcements.ts';
import * as store from './store.ts';

export { announceEnds };

/**
 * Ends everything of a locked account that began at an ordinal or later, and every session that came by one of these passkeys. From
 * then on no sign-in counts as familiar because of them.
 */
export async function disownSessions(
  ctx: Context,
  tx: Executor,
  {
    userId,
    since,
    passkeyIds,
  }: { readonly userId: string; readonly since: number; readonly passkeyIds: readonly string[] },
): Promise<void> {
  const passkey_ids = JSON.stringify(passkeyIds);
  await store.disownSessions(tx, { user_id: userId, since, passkey_ids, now: ctx.clock() });
}

/** The active sessions, keys and runs of an account, newest first. */
export const listActive = (ctx: Context, tx: Executor, userId: string) =>
  store.listActive(tx, { user_id: userId, now: ctx.clock() });

export type EndedSession = Awaited<ReturnType<typeof store.listActive>>[number];

/** What the statements that end sessions return of each. */
type EndedRow = Awaited<ReturnType<typeof store.endSession>>[number];

/** Who ended a session: `by` is the session that did, if one did. */
interface Ender {
  readonly userId: string;
  readonly by?: string | undefined;
  readonly client?: ClientInfo;
}

type Detail = Readonly<Record<string, string>>;

/** Records that a session, key or run has ended, and announces it to services, in the transaction that ended it. Call it last. */
export async function recordEnd(
  ctx: Context,
  tx: Executor,
  { userId, by, client = noClient }: Ender,
  row: EndedRow,
  detail: Detail,
): Promise<void> {
  if (row.kind === 'key') await recordRemovedKey(ctx, tx, { userId, by, client }, row, detail);
  else if (row.kind === 'run') await recordRun(ctx, tx, 'run_ended', { userId, client }, row, detail);
  else await recordEvent(ctx, tx, { type: 'session_revoked', userId, sessionId: row.id, client, detail });
  await announceEnds(ctx, tx, userId, [row]);
}

/**
 * Records that a run was made, or ended by itself and not with an ancestor: at most once an hour for each parent, service and
 * scope, since programs make thousands.
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
  const subject = [run.within_session_id, run.service_id ?? '-', names].join(' ');
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
 * Notifies the owner that a key was removed and records it: `by` the session that removed it, or by the caller that presented the
 * key itself. A `reason` is recorded only where the key ended itself.
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
