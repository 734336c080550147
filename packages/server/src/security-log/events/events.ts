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
import { detailOf, type EventDetail } from './detail.ts';
import { type FailedSignIn, failureType, findEntry } from './failures.ts';
import * as store from './store.ts';

export type { EventDetail };

export type EventType = (typeof eventTypes)[number];

export interface NewEvent {
  readonly type: EventType;
  readonly userId: string;
  readonly sessionId?: string;
  readonly client?: ClientInfo;
  readonly detail?: EventDetail;
}

/** How long after its first change a session's further changes of the same type go into the same event. */
const changeWindowMs = 60_000;

/** How many events may follow an event that is still amended; behind more, the next change gets its own event. */
const maxEventsAfterChange = 100;

/** The log records at most one per interval of an event that strangers or busy clients can repeat at will. */
const repeatIntervalMs = 3_600_000;

/** How many rows are in memory at a time while a whole log is read. */
const batchSize = 500;

/**
 * Records an event in the security log of an account, in the transaction of its cause. Locks the log until that
 * transaction ends, so call it last.
 * @throws {AuthError} `invalid_token` when the account is gone
 */
export async function recordEvent(ctx: Context, tx: Executor, event: NewEvent): Promise<void> {
  await append(ctx, tx, await requireChain(tx, event.userId), event, null);
}

/** Rolls back what a repetition wrote before the lock on the log revealed it as one. */
class AlreadyRecorded extends Error {}

/**
 * Records a change that a person may repeat at will: all changes of one type that a session makes within a minute share
 * one event. `merge` combines two details into one; if that adds nothing, nothing is written.
 *
 * The log is a chain, so an amended event is sealed again together with the few events after it. This happens only under
 * the lock of the log and only if the seals of all of them verify; otherwise the change gets its own event. The event
 * keeps the time, address and user agent of the first change.
 * @throws {AuthError} `invalid_token` when the account is gone
 */
export async function recordChange(
  ctx: Context,
  tx: Executor,
  change: NewEvent & { readonly sessionId: string; readonly detail: EventDetail },
  merge: (earlier: EventDetail, later: EventDetail) => EventDetail,
): Promise<void> {
  const chain = await requireChain(tx, change.userId);
  const events = await eventsSinceChange(ctx, tx, chain, change);
  const [earlier] = events;
  if (!earlier) return append(ctx, tx, chain, change, null);
  const detail = JSON.stringify(merge(detailOf(earlier), change.detail));
  if (detail === earlier.detail) return;
  if (!(await amend(ctx, tx, chain, events, detail))) await append(ctx, tx, chain, change, null);
}

/**
 * Replaces the detail of the first of these events, which reach to the head of a locked chain. False if their seals do not all verify;
 * then nothing changes.
 */
async function amend(
  ctx: Context,
  tx: Executor,
  chain: ChainRow,
  events: readonly EventRow[],
  detail: string,
): Promise<boolean> {
  const [first] = events;
  if (!first) return false;
  const amended = amendEvent(ctx.keys, chain, await macBeforeEvent(tx, chain, first), events, detail);
  if (!amended) return false;
  await Promise.all([
    ...amended.events.map(({ id, detail, mac }) => store.updateEvent(tx, { id, detail, mac })),
    store.updateChain(tx, { ...amended.chain, seal: sealChain(ctx.keys, amended.chain) }),
  ]);
  return true;
}

/**
 * Records a refused attempt to sign in to an account. The first one of a method and network is an event, whose count grows for an
 * hour. Strangers can cause it at will: what exceeds the maximum of events or the maximum count costs one query and writes nothing.
 * Does nothing when the account is gone. Locks the log until the transaction ends, so call it last.
 */
export async function recordFailedSignIn(ctx: Context, tx: Executor, failure: FailedSignIn): Promise<void> {
  const { userId, client } = failure;
  if (!(await findEntry(ctx, tx, failure))) return;
  const chain = await lockChain(tx, userId);
  const entry = chain && (await findEntry(ctx, tx, failure));
  if (!entry) return;
  const { counted, detail, freeSlot } = entry;
  const events = counted ? await eventsFrom(tx, chain, counted) : [];
  if (await amend(ctx, tx, chain, events, JSON.stringify(detail))) return;
  if (freeSlot === undefined) return;
  await append(ctx, tx, chain, { type: failureType, userId, client, detail: entry.firstDetail }, freeSlot);
}

/** An event of a locked chain and all events after it, oldest first; none if there are more than one amendment seals again. */
async function eventsFrom(tx: Executor, chain: ChainRow, { user_id, seq }: EventRow): Promise<EventRow[]> {
  if (chain.head_seq - seq > maxEventsAfterChange) return [];
  return store.listEventsAfter(tx, { user_id, after_seq: seq - 1, limit: maxEventsAfterChange + 1 });
}

/** The event that a change belongs to and all events after it, oldest first; none if the change is the first. */
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
  const before = { user_id: chain.user_id, after_seq: seq - 2, limit: 1 };
  return (await store.listEventsAfter(tx, before))[0]?.mac ?? noMac;
}

/**
 * Records an event at most once an hour for each type and `subject` (a session, a rate limit) of the account. A
 * repetition costs one query and writes nothing. `cause` runs in the same transaction, so exactly as often as the event
 * is recorded.
 */
export async function recordOncePerHour(
  ctx: Context,
  event: NewEvent,
  subject: string,
  cause: (tx: Executor) => Promise<void> = async () => {},
): Promise<void> {
  const once = onceOf(ctx, event, subject);
  const key = { user_id: event.userId, once };
  if ((await store.findOnce(ctx.db.read, key)).length > 0) return;
  const recorded = ctx.db.transaction(async (tx) => {
    // Before what the cause writes: a deletion of the account also locks it first, then deletes all of that.
    await lockAccountRow(tx, { id: event.userId });
    await cause(tx);
    const chain = await lockChain(tx, event.userId);
    if (!chain || (await store.findOnce(tx, key)).length > 0) throw new AlreadyRecorded();
    await append(ctx, tx, chain, event, once);
  });
  await recorded.catch((error: unknown) => {
    if (!(error instanceof AlreadyRecorded)) throw error;
  });
}

/**
 * Records an event at most once an hour for each type and `subject`, in the transaction of its cause, which happens every
 * time. Locks the log only if there is something to record.
 * @throws {AuthError} `invalid_token` when the account is gone
 */
export async function recordOncePerHourIn(
  ctx: Context,
  tx: Executor,
  event: NewEvent,
  subject: string,
): Promise<void> {
  const once = onceOf(ctx, event, subject);
  const key = { user_id: event.userId, once };
  if ((await store.findOnce(tx, key)).length > 0) return;
  const chain = await requireChain(tx, event.userId);
  if ((await store.findOnce(tx, key)).length > 0) return;
  await append(ctx, tx, chain, event, once);
}

const onceOf = (ctx: Context, { type }: NewEvent, subject: string): string =>
  `${type} ${subject} ${Math.floor(ctx.clock() / repeatIntervalMs)}`;

/** Records that an account, or someone targeting it, reached a rate limit: at most once an hour for each limit. */
export const recordRateLimitReached = (
  ctx: Context,
  reached: { readonly userId: string; readonly sessionId?: string; readonly client: ClientInfo },
  limit: string,
): Promise<void> => recordOncePerHour(ctx, { ...reached, type: 'limit_reached', detail: { limit } }, limit);

/**
 * Returns what `take` returns. If a rate limit refuses a signed-in caller, records that in the account's log before the
 * error is thrown.
 * @throws {AuthError} what `take` throws, even if the log cannot be written
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
        ctx.log.warn({ user: userId }, 'could not record that a rate limit was reached'),
      );
    }
    throw error;
  }
}

/** @throws {AuthError} `invalid_token` when the account is gone */
async function requireChain(tx: Executor, userId: string): Promise<ChainRow> {
  const chain = await lockChain(tx, userId);
  if (!chain) throw invalidCredential('gone');
  return chain;
}

/** The locked chain of an account, created if missing; undefined when the account is gone. */
async function lockChain(tx: Executor, userId: string): Promise<ChainRow | undefined> {
  const owner = { user_id: userId };
  const [chain] = await store.lockChain(tx, owner);
  if (chain) return chain;
  await store.insertChain(tx, owner);
  return (await store.lockChain(tx, owner))[0];
}

/**
 * Waits until no sweep is deleting events of a locked account, and keeps the next one away. Call it before deleting the account:
 * that deletes the events before the chain, and the sweep locks the chain before the events.
 */
export async function lockLog(tx: Executor, userId: string): Promise<void> {
  await store.lockChain(tx, { user_id: userId });
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
    // Timestamps within a log never decrease, even if the clocks of the nodes disagree.
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
  // Pipelined: one round trip for both.
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
  // The sequence number orders the events of a log by time.
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

/**
 * Deletes about `limit` events from before a moment, the oldest of each log first, and moves the base of each log
 * forward. A log with defects is left alone and reported as a warning. Returns a row for each deleted event.
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
    ctx.log.warn({ user: userId }, 'a security log is damaged and was not swept: run events verify');
    await store.postponeSweep(tx, { user_id: userId, oldest_at: ctx.clock() });
    return [];
  }
  const kept = rows.findIndex((row) => row.created_at >= before);
  const expired = rows.slice(0, kept < 0 ? batchSize : Math.min(kept, batchSize));
  const last = expired.at(-1);
  const oldest_at = rows[expired.length]?.created_at ?? null;
  if (!last) {
    await store.postponeSweep(tx, { user_id: userId, oldest_at });
    return [];
  }
  const head_mac = macBeforeNext(ctx.logKeys, chain);
  const next = { ...chain, base_seq: last.seq, base_mac: last.mac, head_mac, oldest_at };
  await store.updateChain(tx, { ...next, seal: sealChain(ctx.logKeys, next) });
  return store.deleteEvents(tx, { user_id: userId, up_to_seq: last.seq });
}

/** Audits the log of one user or, one after the other, of all users. Concurrent writes to a log are not reported as defects. */
export async function* auditLogs(
  ctx: Context,
  userId: string | undefined,
): AsyncGenerator<{ userId: string; audit: Audit }> {
  for await (const id of accounts(ctx, userId)) {
    const audit = await auditLog(ctx, ctx.db.read, store.findChain, id);
    const isIntact = audit?.findings.length === 0;
    const settled = isIntact
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
    const findings = [
      { problem: 'no chain' as const, where: 'the record of the ends of the log is missing' },
    ];
    return account && { findings, events: 0, retired: 0, retiredKeys: new Set() };
  }
  const auditor = new Auditor(ctx.logKeys, chain);
  for await (const row of eventsOf(on, userId)) auditor.take(row);
  return auditor.finish();
}

/** The events since a moment of one user or, one after the other, of all users, as JSON Lines. */
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

/** An event of the security log with its position in the order of all events. */
export type PositionedEvent = Omit<EventRow, 'once' | 'created_at' | 'detail' | 'type'> & {
  readonly position: number;
  readonly type: EventType;
  /** RFC 3339. */
  readonly created_at: string;
  readonly detail: EventDetail;
};

/**
 * The next events of all accounts after a position, in the order of their positions; none if there are no more yet. An event that
 * commits late is never passed over: positions up to the last one returned are committed or never will be.
 * @throws {AuthError} `invalid_request` when the position has not been reached yet
 */
export async function listEventsAfterPosition(ctx: Context, after: number): Promise<PositionedEvent[]> {
  const on = ctx.db.read;
  const last = (await store.findLastPosition(on, {}))[0]?.position ?? 0;
  if (last < after) {
    throw new AuthError(
      'invalid_request',
      `No event has the position ${after} yet; the last one is ${last}. Was the database restored from a backup?`,
    );
  }
  if (last === after) return [];
  const [lowest] = on.dialect === 'postgres' ? await store.lowestWriter(on, {}) : [];
  const up_to = Math.min(last, lowest?.position ?? last);
  const rows = await store.listEventsByPosition(on, { after, up_to, limit: batchSize });
  return rows.map(({ once: _, ...row }) => ({
    ...row,
    type: row.type as EventType,
    created_at: new Date(row.created_at).toISOString(),
    detail: detailOf(row),
  }));
}

/**
 * When each server key last sealed something in the security log that is kept, by its id: milliseconds since 1970. A key that signs
 * tokens also seals the events of their sign-ins, but a refresh leaves no event.
 */
export async function lastSeals(ctx: Context): Promise<ReadonlyMap<string, number>> {
  const on = ctx.db.read;
  const last = new Map<string, number>();
  const rows = [...(await store.lastEventSeals(on, {})), ...(await store.lastChainSeals(on, {}))];
  for (const { key_id, sealed_at } of rows) last.set(key_id, Math.max(last.get(key_id) ?? 0, sealed_at));
  return last;
}

/** When another server key sealed its first event after this one had sealed its last; undefined if none has. */
export async function sealedByAnotherAt(
  ctx: Context,
  { keyId, lastSeal }: { readonly keyId: string; readonly lastSeal: number },
): Promise<number | undefined> {
  const [row] = await store.firstSealByAnother(ctx.db.read, { key_id: keyId, after: lastSeal });
  return row?.sealed_at ?? undefined;
}

/** The events of a user for the export of personal data. */
export const exportEventsOf = (on: Executor, userId: string) => store.exportEvents(on, { user_id: userId });

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
