// The readers of the feed: a service itself, and those that it names. Each has a position: everything up to there is acknowledged.

import { fieldLimits } from '@latchkey/contract/field-limits';
import type { CallingService, Context } from '../../platform/context.ts';
import { AuthError, conflict } from '../../platform/errors.ts';
import type { FeedExtent } from '../../security-log/feed-events/feed-events.ts';
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
  readonly lastRequestAt: number;
  /** It begins with this request. */
  readonly begun: boolean;
}

/**
 * The reader that a request names, or the service's own. Creates it if missing. A named one begins with its first request, that of
 * the service when the service gets the right to read.
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
  const from = found?.feed_from ?? extent.position;
  const since = found?.feed_since ?? now;
  const position = found?.position ?? -1;
  const lastRequestAt = found?.last_request_at ?? now;
  // Events while the service did not have the right were for no reader, so it must drop what it remembers.
  if (name !== undefined && (lastRequestAt < now - readerTtlMs || position < from))
    return beginNamed(ctx, service, { id, name, from }, extent);
  if (position < 0) {
    const begun = { id, service_id: service.id, name: null, position: from, settled_at: since, now };
    await store.insertReader(ctx.db.single, begun);
  }
  // When everything up to the position was acknowledged and nothing after it was there, at the earliest.
  const settledAt = Math.max(found?.settled_at ?? since, since);
  if (settledAt >= now - feedRetentionSeconds * 1000)
    return { id, position: Math.max(position, from), lastRequestAt, begun: false };
  // Events that it has not read may have been swept.
  await ctx.db.transaction(async (tx) => {
    await store.lockReader(tx, { id });
    await store.moveReader(tx, { id, position: extent.position, settled_at: now, now });
    await store.deleteAcknowledgements(tx, { reader_id: id, up_to: extent.position });
  });
  throw new AuthError(
    'gone',
    'The feed was not read for too long: events are missing. Drop everything derived from it. The next request starts over.',
  );
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
    if (!active || active.readers > fieldLimits.feedReaders) {
      throw conflict(
        `A service can have at most ${fieldLimits.feedReaders} readers. Those without a request for ${readerTtlSeconds} seconds are forgotten.`,
      );
    }
    return true;
  });
  if (!begun) return openReader(ctx, service, name, extent);
  return { id, position: extent.position, lastRequestAt: now, begun };
}

/** Acknowledges events and returns the new position. Without any, it is recorded once per interval. */
export async function settle(
  ctx: Context,
  reader: Reader,
  acknowledged: readonly string[],
  extent: FeedExtent,
): Promise<number> {
  const isDue = ctx.clock() - reader.lastRequestAt >= writeIntervalMs;
  if (acknowledged.length === 0 && !isDue) return reader.position;
  const ids = JSON.stringify(acknowledged);
  return ctx.db.transaction(async (tx) => {
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
  });
}
