import type { Event, eventTypes } from '@latchkey/contract/events';
import type { Context } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/random.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { lockAccountRow } from '../../platform/database/locks.ts';
import { type PageRequest, paginate, parseCursor } from '../../platform/database/pagination.ts';
import { AuthError, invalidCredential } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import {
  type Audit,
  Auditor,
  amendEvent,
  type ChainRow,
  type EventRow,
  macBeforeNext,
  noMac,
  sealChain,
  sealEvent,
} from './chain.ts';
import * as store from './store.ts';

export type EventType = (typeof eventTypes)[number];

export type EventDetail = Readonly<Record<string, string>>;

export interface NewEvent {
  readonly type: EventType;
  readonly userId: string;
  readonly sessionId?: string;
  readonly client?: ClientInfo;
  readonly detail?: EventDetail;
}

/** Changes of one type that a session makes this soon after the first one are told of in the event of the first. */
const changeWindowMs = 60_000;

/** An event with more events than this after it is left alone: the next change gets an event of its own. */
const maxEventsAfterChange = 100;

/** Of events that strangers or busy clients can repeat at will, the log takes the first in each of these. */
const repeatIntervalMs = 3_600_000;

const accountGone = () => new AuthError('invalid_token', 'The account is gone.', { detail: 'gone' });

/** Rows in memory at a time where a whole log is read. */
const batchSize = 500;

/**
 * Writes what happened into the security log of the account, in the transaction of its cause. It locks the log
 * until that ends, so it goes last there.
 * @throws {AuthError} `invalid_token` when the account is gone
 */
export async function recordEvent(ctx: Context, tx: Executor, event: NewEvent): Promise<void> {
  const chain = await lockChain(tx, event.userId);
  if (!chain) throw invalidCredential('gone');
  await append(ctx, tx, chain, event, null);
}

/** Rolls back what a repetition wrote before the log could tell that it was one. */
class AlreadyRecorded extends Error {}

/**
 * Records a change that a person may repeat at will: all changes of one type that one session makes within a minute are one
 * event. `merge` says in one detail what both details tell; where that is nothing new, nothing is written.
 *
 * The log is a chain, so a changed event is sealed anew together with the few events after it. That happens only under
 * the lock of the log and only where all of them still hold; otherwise the change gets an event of its own. The time,
 * address and user agent of the event stay those of the first change.
 * @throws {AuthError} `invalid_token` when the account is gone
 */
export async function recordChange(
  ctx: Context,
  tx: Executor,
  change: NewEvent & { readonly sessionId: string; readonly detail: EventDetail },
  merge: (earlier: EventDetail, later: EventDetail) => EventDetail,
): Promise<void> {
  const chain = await lockChain(tx, change.userId);
  if (!chain) throw accountGone();
  const events = await eventsSinceChange(ctx, tx, chain, change);
  const [earlier] = events;
  if (!earlier) return append(ctx, tx, chain, change, null);
  const detail = JSON.stringify(merge(detailOf(earlier), change.detail));
  if (detail === earlier.detail) return;
  const macBefore = await macBeforeEvent(tx, chain, earlier);
  const amended = amendEvent(ctx.keys, chain, macBefore, events, detail);
  if (!amended) return append(ctx, tx, chain, change, null);
  await Promise.all([
    ...amended.events.map(({ id, detail, mac }) => store.updateEvent(tx, { id, detail, mac })),
    store.updateChain(tx, { ...amended.chain, seal: sealChain(ctx.keys, amended.chain) }),
  ]);
}

/** The event that a change belongs to and all after it, oldest first; none where the change is the first one. */
async function eventsSinceChange(
  ctx: Context,
  tx: Executor,
  chain: ChainRow,
  { userId, sessionId, type }: NewEvent,
): Promise<EventRow[]> {
  const since = Math.max(ctx.clock(), chain.head_at) - changeWindowMs;
  if (chain.head_at <= since) return [];
  const after_seq = chain.head_seq - maxEventsAfterChange - 1;
  const recent = await store.listEventsSince(tx, { user_id: userId, after_seq, since });
  const index = recent.findLastIndex((row) => row.type === type && row.session_id === sessionId);
  return index < 0 ? [] : recent.slice(index);
}

async function macBeforeEvent(tx: Executor, chain: ChainRow, { seq }: EventRow): Promise<string> {
  if (seq === chain.base_seq + 1) return chain.base_mac;
  const of = { user_id: chain.user_id, after_seq: seq - 2, limit: 1 };
  return (await store.listEventsAfter(tx, of))[0]?.mac ?? noMac;
}

/**
 * Writes down the first of something that may happen again and again: one event an hour for each type and
 * `subject` (a session, a limit) of the account. A repetition costs one look-up and writes nothing. `cause` is
 * carried out in the same transaction, so as often as the event is written.
 */
export async function recordOncePerHour(
  ctx: Context,
  event: NewEvent,
  subject: string,
  cause: (tx: Executor) => Promise<void> = async () => {},
): Promise<void> {
  const once = `${event.type} ${subject} ${Math.floor(ctx.clock() / repeatIntervalMs)}`;
  const one = { user_id: event.userId, once };
  if ((await store.findOnce(ctx.db.read, one)).length > 0) return;
  const recorded = ctx.db.transaction(async (tx) => {
    // Before what the cause writes: whoever deletes the account locks it first, too, and then deletes all of that.
    await lockAccountRow(tx, { id: event.userId });
    await cause(tx);
    const chain = await lockChain(tx, event.userId);
    if (!chain || (await store.findOnce(tx, one)).length > 0) throw new AlreadyRecorded();
    await append(ctx, tx, chain, event, once);
  });
  await recorded.catch((error: unknown) => {
    if (!(error instanceof AlreadyRecorded)) throw error;
  });
}

/** Writes down that an account, or someone who aims at it, reached a limit: once an hour for each limit. */
export const recordRateLimitReached = (
  ctx: Context,
  reached: { readonly userId: string; readonly sessionId?: string; readonly client: ClientInfo },
  limit: string,
): Promise<void> => recordOncePerHour(ctx, { ...reached, type: 'limit_reached', detail: { limit } }, limit);

/**
 * What `take` answers. Where somebody signed in is refused by a limit, the log of the account says so first.
 * @throws {AuthError} what `take` throws, also where the log cannot be written
 */
export async function recordingRateLimits<Taken>(
  ctx: Context,
  reached: { readonly userId: string; readonly sessionId: string; readonly client: ClientInfo },
  take: () => Promise<Taken>,
): Promise<Taken> {
  try {
    return await take();
  } catch (error) {
    if (error instanceof AuthError && error.code === 'rate_limited' && error.detail !== undefined) {
      const { userId, sessionId, client } = reached;
      await recordRateLimitReached(ctx, { userId, sessionId, client }, error.detail).catch(() =>
        ctx.log.warn({ user: userId }, 'a limit that was reached could not be noted'),
      );
    }
    throw error;
  }
}

/** Undefined when the account is gone. */
async function lockChain(tx: Executor, userId: string): Promise<ChainRow | undefined> {
  const of = { user_id: userId };
  const [chain] = await store.lockChain(tx, of);
  if (chain) return chain;
  await store.insertChain(tx, of);
  return (await store.lockChain(tx, of))[0];
}

async function append(
  ctx: Context,
  tx: Executor,
  chain: ChainRow,
  event: NewEvent,
  once: string | null,
): Promise<void> {
  const row = {
    id: newId('evt_', ctx.random),
    user_id: event.userId,
    type: event.type,
    session_id: event.sessionId ?? null,
    ip_address: event.client?.ipAddress ?? null,
    user_agent: event.client?.userAgent ?? null,
    detail: event.detail ? JSON.stringify(event.detail) : null,
    // Times of one log never run backwards, whatever the clocks of the nodes say.
    created_at: Math.max(ctx.clock(), chain.head_at),
    seq: chain.head_seq + 1,
    once,
  };
  const mac = sealEvent(ctx.logKeys, row, macBeforeNext(ctx.logKeys, chain));
  const next = {
    ...chain,
    head_seq: row.seq,
    head_mac: mac,
    head_at: row.created_at,
    oldest_at: chain.oldest_at ?? row.created_at,
  };
  // Sent together, so that both cost one round trip.
  await Promise.all([
    store.insertEvent(tx, { ...row, mac }),
    store.updateChain(tx, { ...next, seal: sealChain(ctx.logKeys, next) }),
  ]);
}

/** The security log of a user, newest first. */
export async function listEvents(
  ctx: Context,
  owner: { userId: string },
  page: PageRequest,
): Promise<{ events: Event[]; next_cursor: string | null }> {
  const before = parseCursor(page.cursor, { time: Number.MAX_SAFE_INTEGER, id: '' });
  const rows = await store.listEventsBefore(ctx.db.read, {
    user_id: owner.userId,
    before_seq: before.time,
    limit: page.limit + 1,
  });
  // The number of an event is its place in time.
  const { entries, next_cursor } = paginate(rows, page.limit, (row) => ({ time: row.seq, id: row.id }));
  const events = entries.map((row) => ({
    id: row.id,
    type: row.type as EventType,
    created_at: new Date(row.created_at).toISOString(),
    session_id: row.session_id,
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    detail: detailOf(row),
  }));
  return { events, next_cursor };
}

const detailOf = (row: { detail: string | null }): Record<string, string> =>
  row.detail === null ? {} : (JSON.parse(row.detail) as Record<string, string>);

/**
 * Deletes events from before a moment, the oldest of each log first, about `limit` of them, and moves the logs'
 * beginnings along. A log that is not whole is left as it is and told of. Answers with a row for each.
 */
export async function sweepEvents(ctx: Context, before: number, limit: number): Promise<{ id: string }[]> {
  const expired = await store.findExpiredChains(ctx.db.read, { before, limit });
  const deleted: { id: string }[] = [];
  for (const { user_id } of expired) {
    if (deleted.length >= limit) break;
    deleted.push(...(await ctx.db.transaction((tx) => sweepLog(ctx, tx, user_id, before))));
  }
  return deleted;
}

async function sweepLog(
  ctx: Context,
  tx: Executor,
  userId: string,
  before: number,
): Promise<{ id: string }[]> {
  const [chain] = await store.lockFreeChain(tx, { user_id: userId });
  if (!chain) return [];
  const rows = await store.listEventsAfter(tx, {
    user_id: userId,
    after_seq: chain.base_seq,
    limit: batchSize + 1,
  });
  const auditor = new Auditor(ctx.logKeys, chain);
  for (const row of rows) auditor.take(row);
  const { findings } = rows.length <= batchSize ? auditor.finish() : auditor.audit;
  if (findings.length > 0) {
    ctx.log.warn({ user: userId }, 'a security log is not whole and was not swept: see events verify');
    await store.postponeSweep(tx, { user_id: userId, oldest_at: ctx.clock() });
    return [];
  }
  const kept = rows.findIndex((row) => row.created_at >= before);
  const going = rows.slice(0, kept < 0 ? batchSize : Math.min(kept, batchSize));
  const last = going.at(-1);
  const oldest_at = rows[going.length]?.created_at ?? null;
  if (!last) {
    await store.postponeSweep(tx, { user_id: userId, oldest_at });
    return [];
  }
  const head_mac = macBeforeNext(ctx.logKeys, chain);
  const next = { ...chain, base_seq: last.seq, base_mac: last.mac, head_mac, oldest_at };
  await store.updateChain(tx, { ...next, seal: chain.seal && sealChain(ctx.logKeys, next) });
  return store.deleteEvents(tx, { user_id: userId, up_to_seq: last.seq });
}

/** The audits of one user's log or, one after the other, of all. Logs that change meanwhile are no finding. */
export async function* auditLogs(
  ctx: Context,
  userId: string | undefined,
): AsyncGenerator<{ userId: string; audit: Audit }> {
  for await (const id of accounts(ctx, userId)) {
    const audit = await auditLog(ctx, ctx.db.read, store.findChain, id);
    const isWhole = audit?.findings.length === 0;
    const settled = isWhole
      ? audit
      : await ctx.db.transaction((tx) => auditLog(ctx, tx, store.lockChain, id));
    if (settled) yield { userId: id, audit: settled };
  }
}

/** Undefined when the account is gone. */
async function auditLog(
  ctx: Context,
  on: Executor,
  find: typeof store.findChain,
  userId: string,
): Promise<Audit | undefined> {
  const [chain] = await find(on, { user_id: userId });
  if (!chain) {
    const [account] = await store.findAccount(on, { id: userId });
    const findings = [{ problem: 'no chain' as const, where: 'the record of both ends of the log is gone' }];
    return account && { findings, events: 0, unsealed: 0, retired: 0, retiredKeys: new Set() };
  }
  const auditor = new Auditor(ctx.logKeys, chain);
  for await (const row of eventsOf(on, userId)) auditor.take(row);
  return auditor.finish();
}

/** The events since a moment of one user or, one after the other, of all, as JSON objects of one line each. */
export async function* exportEvents(
  ctx: Context,
  userId: string | undefined,
  since: number,
): AsyncGenerator<string> {
  for await (const id of accounts(ctx, userId)) {
    const [chain] = await store.findChain(ctx.db.read, { user_id: id });
    if (chain && chain.head_at < since) continue;
    for await (const row of eventsOf(ctx.db.read, id)) if (row.created_at >= since) yield lineOf(row);
  }
}

const lineOf = ({ once: _, ...row }: EventRow): string =>
  JSON.stringify({ ...row, created_at: new Date(row.created_at).toISOString(), detail: detailOf(row) });

async function* accounts(ctx: Context, only: string | undefined): AsyncGenerator<string> {
  if (only !== undefined) return yield only;
  for (let after_id = ''; ; ) {
    const rows = await store.listAccounts(ctx.db.read, { after_id, limit: batchSize });
    for (const { id } of rows) yield id;
    if (rows.length < batchSize) return;
    after_id = rows.at(-1)!.id;
  }
}

/** All events of a user, oldest first, in batches. */
async function* eventsOf(on: Executor, userId: string): AsyncGenerator<EventRow> {
  for (let after_seq = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = await store.listEventsAfter(on, { user_id: userId, after_seq, limit: batchSize });
    yield* rows;
    if (rows.length < batchSize) return;
    after_seq = rows.at(-1)!.seq;
  }
}
