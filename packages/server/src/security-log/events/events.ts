import type { eventTypes } from '@latchkey/contract/events';
import { lockAccountRow } from '../../accounts/locks.ts';
import type { Context } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/primitives.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, invalidCredential } from '../../platform/errors.ts';
import type { RateLimitSubject, Reservation } from '../../platform/rate-limits/limiter.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import {
  amendEvent,
  type ChainRow,
  detailOf,
  type EventDetail,
  type EventRow,
  macBeforeNext,
  nextCount,
  nextTotal,
  reseal,
  sealEvent,
} from './chain.ts';
import * as store from './store.ts';

export type { EventDetail };

export type EventType = (typeof eventTypes)[number];

export interface NewEvent {
  readonly type: EventType;
  readonly userId: string;
  readonly sessionId?: string | null;
  readonly client?: ClientInfo;
  readonly detail?: EventDetail;
}

/** A detail of what there is. */
export const withoutNulls = (values: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null));

/** How long after its first change a session's further changes of the same type go into the same event. */
const changeWindowMs = 60_000;

/** How many events may follow an event that is still amended; behind more, the next change gets its own event. */
const maxEventsAfterChange = 100;

/** The log records at most one per interval of an event that strangers or busy clients can repeat at will. */
const repeatIntervalMs = 3_600_000;

/**
 * Records an event in the security log of an account, in the transaction of its cause. Locks the log until that
 * transaction ends, so call it last.
 * @param locked the log, if the transaction has locked it and not yet written to it
 * @throws {AuthError} `invalid_token` when the account is gone
 */
export async function recordEvent(ctx: Context, tx: Executor, event: NewEvent, locked?: LockedLog) {
  await append(ctx, tx, locked ?? (await requireLog(ctx, tx, event.userId)), event, null);
}

/**
 * Records a change that a person may repeat at will: all of one type that a session makes within a minute
 * share one event, with the time and client of the first. `merge` combines two details; if that adds nothing,
 * nothing is written. An amended event is sealed again together with the few events after it, if the seals of
 * all of them verify; otherwise the change gets its own event.
 * @throws {AuthError} `invalid_token` when the account is gone
 */
export async function recordChange(
  ctx: Context,
  tx: Executor,
  change: NewEvent & { readonly sessionId: string; readonly detail: EventDetail },
  merge: (earlier: EventDetail, later: EventDetail) => EventDetail,
): Promise<void> {
  const chain = await requireLog(ctx, tx, change.userId);
  const earlier = await findEarlierChange(ctx, tx, chain, change);
  const detail = JSON.stringify(earlier ? merge(detailOf(earlier), change.detail) : change.detail);
  if (detail === earlier?.detail || (await amend(ctx, tx, chain, earlier, detail))) return;
  await append(ctx, tx, chain, change, null);
}

/**
 * Replaces the detail of an event of a locked chain. False, and nothing changes, if there is no such event, if too many follow it, or
 * if the seals of all of them do not verify.
 */
async function amend(
  ctx: Context,
  tx: Executor,
  chain: ChainRow,
  event: EventRow | undefined,
  detail: string,
): Promise<boolean> {
  if (!event || chain.head_seq - event.seq > maxEventsAfterChange) return false;
  const { user_id, seq } = event;
  const limit = maxEventsAfterChange + 2;
  const rows = await store.listEventsAfter(tx, { user_id, after_seq: seq - 2, limit });
  const amended = amendEvent(ctx.keys, chain, rows, seq, detail);
  if (!amended) return false;
  await Promise.all([
    ...amended.events.map(({ id, detail, mac }) => store.updateEvent(tx, { id, detail, mac })),
    store.updateChain(tx, reseal(ctx.keys, amended.chain)),
  ]);
  return true;
}

/**
 * Records refused attempts to sign in. The first of a method and network is an event, whose count grows for
 * an hour. Strangers can cause it: beyond the maxima it costs one query and writes nothing. Call it last: it
 * locks the log.
 */
export async function recordFailedSignIn(ctx: Context, tx: Executor, failure: FailedSignIn): Promise<void> {
  const { userId, client } = failure;
  if (!(await findEntry(ctx, tx, failure))) return;
  const chain = await lockLog(ctx, tx, userId);
  const entry = chain && (await findEntry(ctx, tx, failure));
  if (!entry) return;
  const { counted, detail, freeSlot, firstDetail } = entry;
  if (await amend(ctx, tx, chain, counted, JSON.stringify(detail))) return;
  if (freeSlot === undefined) return;
  await append(ctx, tx, chain, { type: failureType, userId, client, detail: firstDetail }, freeSlot);
}

/** The event that a change belongs to; undefined if the change is the first, or if too many events followed. */
async function findEarlierChange(
  ctx: Context,
  tx: Executor,
  chain: ChainRow,
  { userId, sessionId, type }: NewEvent,
): Promise<EventRow | undefined> {
  const since = Math.max(ctx.clock(), chain.head_at) - changeWindowMs;
  if (chain.head_at <= since) return undefined;
  const limit = maxEventsAfterChange + 1;
  const after_seq = chain.head_seq - limit;
  const recent = await store.listEventsAfter(tx, { user_id: userId, after_seq, limit });
  return recent.findLast(
    (row) => row.type === type && row.session_id === sessionId && row.created_at > since,
  );
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
  const key = onceOf(ctx, event, subject);
  if ((await store.findOnce(ctx.db.read, key)).length > 0) return;
  await ctx.db.transaction(async (tx) => {
    // Of several requests at once, the others wait here. A deletion of the account does, too.
    const [account] = await lockAccountRow(tx, { id: event.userId });
    if (!account || (await store.findOnce(tx, key)).length > 0) return;
    await cause(tx);
    await append(ctx, tx, await requireLog(ctx, tx, event.userId), event, key.once);
  });
}

/**
 * Records an event at most once an hour for each type and `subject`, in the transaction of its cause, which happens every
 * time. Locks the log only if there is something to record.
 * @throws {AuthError} `invalid_token` when the account is gone
 */
export async function recordOncePerHourIn(ctx: Context, tx: Executor, event: NewEvent, subject: string) {
  const key = onceOf(ctx, event, subject);
  if ((await store.findOnce(tx, key)).length > 0) return;
  const chain = await requireLog(ctx, tx, event.userId);
  if ((await store.findOnce(tx, key)).length > 0) return;
  await append(ctx, tx, chain, event, key.once);
}

const onceOf = (ctx: Context, { type, userId }: NewEvent, subject: string) => ({
  user_id: userId,
  once: `${type} ${subject} ${Math.floor(ctx.clock() / repeatIntervalMs)}`,
});

/** Records that an account, or someone targeting it, reached a rate limit: at most once an hour for each limit. */
export const recordRateLimitReached = (
  ctx: Context,
  reached: { readonly userId: string; readonly sessionId?: string; readonly client: ClientInfo },
  limit: string,
): Promise<void> => recordOncePerHour(ctx, { ...reached, type: 'limit_reached', detail: { limit } }, limit);

/**
 * Counts a request of a signed-in caller against rate limits. A refusal is recorded in the account's log before it is thrown.
 * @throws {AuthError} `rate_limited`, even if the log cannot be written; what else counting throws
 */
export async function takeForUser(
  ctx: Context,
  reached: { readonly userId: string; readonly sessionId: string; readonly client: ClientInfo },
  ...subjects: readonly RateLimitSubject[]
): Promise<Reservation> {
  try {
    return await ctx.limiter.take(...subjects);
  } catch (error) {
    if (error instanceof AuthError && error.code === 'rate_limited' && error.detail !== undefined) {
      await recordRateLimitReached(ctx, reached, error.detail).catch(() =>
        ctx.log.warn({ user: reached.userId }, 'could not record that a rate limit was reached'),
      );
    }
    throw error;
  }
}

/** The log of an account, locked until the transaction ends. */
type LockedLog = NonNullable<Awaited<ReturnType<typeof lockLog>>>;

/** @throws {AuthError} `invalid_token` when the account is gone */
async function requireLog(ctx: Context, tx: Executor, userId: string): Promise<LockedLog> {
  const log = await lockLog(ctx, tx, userId);
  if (!log) throw invalidCredential('gone');
  return log;
}

/** Locks the log of an account until the transaction ends, and creates what is missing; undefined when the account is gone. */
export async function lockLog(ctx: Pick<Context, 'random'>, tx: Executor, userId: string) {
  const one = { user_id: userId };
  let [log] = await store.lockLog(tx, one);
  if (!log) {
    await store.insertChain(tx, one);
    [log] = await store.lockLog(tx, one);
  }
  if (!log) return undefined;
  const { total_bucket: bucket, total, total_seal: seal, ...chain } = log;
  const isHeld = bucket !== null && total !== null && seal !== null;
  return { ...chain, total: isHeld ? { bucket, total, seal } : await startTotal(ctx, tx) };
}

/** Starts a total, because other transactions hold all that there are: so there are never more than transactions at once. */
async function startTotal(ctx: Pick<Context, 'random'>, tx: Executor) {
  const [total] = await store.insertTotal(tx, { bucket: ctx.random(4).readUInt32BE() >>> 1 });
  return total!;
}

/**
 * For an account that is locked and about to be deleted: takes its events out of the total, and waits until no sweep is deleting any of
 * them. The deletion deletes the events before the chain, and the sweep locks the chain before the events.
 */
export async function closeLog(ctx: Context, tx: Executor, userId: string): Promise<void> {
  const log = await lockLog(ctx, tx, userId);
  if (log) await store.updateTotal(tx, nextTotal(ctx.logKeys, log.total, -log.counted));
}

async function append(ctx: Context, tx: Executor, log: LockedLog, event: NewEvent, once: string | null) {
  const row = {
    id: newId('evt_', ctx.random),
    user_id: event.userId,
    type: event.type,
    session_id: event.sessionId ?? null,
    ip_address: event.client?.ipAddress ?? null,
    user_agent: event.client?.userAgent ?? null,
    detail: event.detail ? JSON.stringify(event.detail) : null,
    // Timestamps within a log never decrease, even if the clocks of the nodes disagree.
    created_at: Math.max(ctx.clock(), log.head_at),
    seq: log.head_seq + 1,
    once,
  };
  const mac = sealEvent(ctx.logKeys, row, macBeforeNext(ctx.logKeys, log));
  const next = reseal(ctx.logKeys, {
    ...log,
    head_seq: row.seq,
    head_mac: mac,
    head_at: row.created_at,
    oldest_at: log.oldest_at ?? row.created_at,
    ...nextCount(ctx.logKeys, log, row.seq),
  });
  await store.appendEvent(tx, next, { ...row, mac }, nextTotal(ctx.logKeys, log.total, 1));
}

/** How many events about failed sign-ins an account gets per day (UTC); further ones are only counted in the metrics. */
export const maxFailureEventsPerDay = 20;

/** How far an event counts, so that an attack writes a bounded number of times, however long it lasts. */
export const maxFailuresCounted = 1000;

/** How long after its first failure an event counts further ones by the same method from the same network. */
const failureWindowMs = 3_600_000;

const dayMs = 86_400_000;

const failureType = 'sign_in_failed';

/** Refused attempts to sign in to an account, and the network that they came from, as CIDR. */
interface FailedSignIn {
  readonly userId: string;
  readonly method: string;
  readonly network: string;
  readonly client: ClientInfo;
  readonly times: number;
}

/**
 * Where failures are counted; undefined if they are not. `counted` is the event that counts them, with its
 * new `detail`; `freeSlot` is the `once` of a new event, with `firstDetail`. Either may be missing.
 */
async function findEntry(ctx: Context, on: Executor, { userId, method, network, times }: FailedSignIn) {
  const today = Math.floor(ctx.clock() / dayMs);
  const slots = JSON.stringify([today - 1, today].flatMap(slotsOf));
  const rows = await store.listOnce(on, { user_id: userId, slots });
  const since = ctx.clock() - failureWindowMs;
  const newestFirst = rows.toSorted((a, b) => b.seq - a.seq);
  const counted = newestFirst.find((row) => {
    const detail = detailOf(row);
    return row.created_at > since && detail['method'] === method && detail['network'] === network;
  });
  const count = counted ? Number(detailOf(counted)['count']) : 0;
  const freeSlot = slotsOf(today).find((slot) => rows.every(({ once }) => once !== slot));
  const isFull = counted ? count >= maxFailuresCounted : freeSlot === undefined;
  const detail = { method, network, count: Math.min(count + times, maxFailuresCounted) };
  const firstDetail = { ...detail, count: Math.min(times, maxFailuresCounted) };
  return isFull ? undefined : { counted, detail, firstDetail, freeSlot };
}

/** The values of `once` that the events of a day have, one each. */
const slotsOf = (day: number): string[] =>
  Array.from({ length: maxFailureEventsPerDay }, (_, slot) => `${failureType} ${day} ${slot}`);
