// The readers of the feed: a service itself, and those that it names. Each has a position: everything up to there is acknowledged.

import { fieldLimits } from '@latchkey/contract/field-limits';
import type { CallingService, Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError } from '../../platform/errors.ts';
import type { FeedExtent } from '../../security-log/feed/feed.ts';
import * as store from './store.ts';

/** How long events are kept, and so how long a service may be away. */
export const feedRetentionSeconds = 7 * 86_400;

/** How long a named reader is kept without a request. */
const readerTtlSeconds = 600;

/** The shortest interval between two writes of a reader that acknowledges nothing. */
const writeIntervalMs = 10_000;

/** A reader's last request is up to one interval later than stored. */
export const readerTtlMs = readerTtlSeconds * 1000 + writeIntervalMs;

export interface Reader {
  readonly id: string;
  readonly position: number;
  /** When everything up to the position was acknowledged and nothing after it was there, at the earliest. */
  readonly settledAt: number;
  readonly lastRequestAt: number;
  /** It begins with this request. */
  readonly begun: boolean;
}

const conflict = () =>
  new AuthError(
    'conflict',
    `A service can have at most ${fieldLimits.feedReaders} readers. Those without a request for ${readerTtlSeconds} seconds are forgotten.`,
  );

const gone = () =>
  new AuthError(
    'gone',
    'The feed was not read for too long: events are missing. Drop everything derived from it. The next request starts over.',
  );

/**
 * The reader that a request names, or the service's own. Creates it if missing.
 * @throws {AuthError} `conflict` for one reader too many; `gone` after an absence that is too long, once
 */
export async function openReader(
  ctx: Context,
  service: CallingService,
  name: string | undefined,
  extent: FeedExtent,
): Promise<Reader> {
  const id = name === undefined ? service.id : `${service.id}/${name}`;
  const now = ctx.clock();
  const [found] = await store.findReader(ctx.db.read, { id, service_id: service.id });
  // Without the right the service got no events, so it begins again with the moment it has it again.
  const since = found?.feed_since ?? 0;
  const from = found?.feed_from ?? 0;
  const { position, settled_at, last_request_at } = found ?? {};
  if (typeof position !== 'number' || typeof settled_at !== 'number' || typeof last_request_at !== 'number') {
    return name === undefined
      ? beginOwn(
          ctx,
          service,
          { id, position: found?.feed_from ?? extent.position, settledAt: found?.feed_since ?? now },
          extent,
        )
      : beginNamed(ctx, service, { id, name, from }, extent);
  }
  // Events while the service did not have the right were for no reader, so it must drop what it remembers.
  const isForgotten = last_request_at < now - readerTtlMs || position < from;
  if (name !== undefined && isForgotten) return beginNamed(ctx, service, { id, name, from }, extent);
  const reader = {
    id,
    position: Math.max(position, from),
    settledAt: Math.max(settled_at, since),
    lastRequestAt: last_request_at,
    begun: false,
  };
  return requirePresence(ctx, reader, extent);
}

/** @throws {AuthError} `gone` if events that it has not read may have been swept; it begins anew then */
async function requirePresence(ctx: Context, reader: Reader, { position }: FeedExtent): Promise<Reader> {
  const now = ctx.clock();
  if (reader.settledAt >= now - feedRetentionSeconds * 1000) return reader;
  await ctx.db.transaction(async (tx) => {
    await store.lockReader(tx, { id: reader.id });
    await store.moveReader(tx, { id: reader.id, position, settled_at: now, now });
    await store.deleteAcknowledgements(tx, { reader_id: reader.id, up_to: position });
  });
  throw gone();
}

/** The reader of the service itself begins when the service gets the right to read, not with its first request. */
async function beginOwn(
  ctx: Context,
  service: CallingService,
  { id, position, settledAt }: { id: string; position: number; settledAt: number },
  extent: FeedExtent,
): Promise<Reader> {
  const now = ctx.clock();
  await store.insertReader(ctx.db.single, {
    id,
    service_id: service.id,
    name: null,
    position,
    settled_at: settledAt,
    now,
  });
  return requirePresence(ctx, { id, position, settledAt, lastRequestAt: now, begun: false }, extent);
}

/** @throws {AuthError} `conflict` */
async function beginNamed(
  ctx: Context,
  service: CallingService,
  { id, name, from }: { readonly id: string; readonly name: string; readonly from: number },
  extent: FeedExtent,
): Promise<Reader> {
  const now = ctx.clock();
  const before = now - readerTtlMs;
  const begun = await ctx.db.transaction(async (tx) => {
    await store.lockService(tx, { id: service.id });
    await store.forgetReader(tx, { id, before, from });
    const [inserted] = await store.insertReader(tx, {
      id,
      service_id: service.id,
      name,
      position: extent.position,
      settled_at: now,
      now,
    });
    // Another request of the same reader was first, and is the one that begins it.
    if (!inserted) return false;
    const [active] = await store.countReaders(tx, { service_id: service.id, since: before });
    if (!active || active.readers > fieldLimits.feedReaders) throw conflict();
    return true;
  });
  if (!begun) return openReader(ctx, service, name, extent);
  return { id, position: extent.position, settledAt: now, lastRequestAt: now, begun };
}

/**
 * Acknowledges events and returns the reader's new position. A request that acknowledges nothing is recorded once per
 * interval.
 */
export async function settle(
  ctx: Context,
  reader: Reader,
  acknowledged: readonly string[],
  extent: FeedExtent,
): Promise<number> {
  const isDue = ctx.clock() - reader.lastRequestAt >= writeIntervalMs;
  if (acknowledged.length === 0 && !isDue) return reader.position;
  return ctx.db.transaction((tx) => moveOn(ctx, tx, reader, JSON.stringify(acknowledged), extent));
}

async function moveOn(
  ctx: Context,
  tx: Executor,
  reader: Reader,
  ids: string,
  extent: FeedExtent,
): Promise<number> {
  const { id } = reader;
  const now = ctx.clock();
  const [locked] = await store.lockReader(tx, { id });
  const after = Math.max(locked?.position ?? 0, reader.position);
  const [first] = await store.listUnacknowledged(tx, {
    reader_id: id,
    after,
    up_to: extent.position,
    except_ids: ids,
    limit: 1,
  });
  const position = first ? first.seq - 1 : Math.max(after, extent.position);
  if (first) await store.acknowledge(tx, { reader_id: id, ids, after: position });
  await store.deleteAcknowledgements(tx, { reader_id: id, up_to: position });
  await store.moveReader(tx, { id, position, settled_at: Math.min(now, first?.written_at ?? now), now });
  return position;
}
