import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { type PageRequest, paginate, parseCursor } from '../../platform/database/pagination.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { shown } from '../../platform/values/shown.ts';
import { detailOf, type EventRow } from './chain.ts';
import type { EventType } from './events.ts';
import * as store from './store.ts';

/** How many rows are in memory at a time while a whole log is read. */
export const batchSize = 500;

/** The security log of a user, newest first. */
export async function listEvents(ctx: Context, owner: { userId: string }, page: PageRequest) {
  const before = parseCursor(page.cursor, { time: Number.MAX_SAFE_INTEGER, id: 'evt_' });
  const rows = await store.listEventsBefore(ctx.db.read, {
    user_id: owner.userId,
    before_seq: before.time,
    limit: page.limit + 1,
  });
  // The sequence number orders the events of a log by time.
  const { entries, next_cursor } = paginate(rows, page.limit, (row) => ({ time: row.seq, id: row.id }));
  const events = entries.map((row) => ({
    ...shown(row, ['id', 'type', 'created_at', 'session_id', 'ip_address', 'user_agent']),
    type: row.type as EventType,
    detail: detailOf(row),
  }));
  return { events, next_cursor };
}

/** An event of the security log with its position in the order of all events. */
export type PositionedEvent = Awaited<ReturnType<typeof listEventsAfterPosition>>[number];

/**
 * The next events of all accounts after a position, in the order of their positions; none if there are no more yet. An event that
 * commits late is never passed over: positions up to the last one returned are committed or never will be.
 * @throws {AuthError} `invalid_request` when the position has not been reached yet
 */
export async function listEventsAfterPosition(ctx: Context, after: number) {
  const on = ctx.db.read;
  const last = (await store.findLastPosition(on, {}))[0]?.position ?? 0;
  if (last < after) {
    throw invalidRequest(
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

/** The id of one user, or of all of them. */
export async function* accounts(ctx: Context, only?: string): AsyncGenerator<string> {
  if (only !== undefined) return yield only;
  for (let after_id = ''; ; ) {
    const rows = await store.listAccounts(ctx.db.read, { after_id, limit: batchSize });
    for (const { id } of rows) yield id;
    if (rows.length < batchSize) return;
    after_id = rows.at(-1)!.id;
  }
}

/** All events of a user, oldest first, in batches. */
export async function* eventsOf(on: Executor, userId: string): AsyncGenerator<EventRow> {
  for (let after_seq = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = await store.listEventsAfter(on, { user_id: userId, after_seq, limit: batchSize });
    yield* rows;
    if (rows.length < batchSize) return;
    after_seq = rows.at(-1)!.seq;
  }
}
