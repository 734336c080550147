// What services read about accounts: readers.ts (who reads, and how far they have read), watch.ts (waiting for events),
// sets.ts (the events on the wire). Events are written by security-log/feed-events/.

import type { FeedAnswer, FeedRequest } from '@latchkey/contract/feed';
import type { CallingService, Context } from '../../platform/context.ts';
import { redact } from '../../platform/telemetry/redact.ts';
import { openReader, settle } from './readers.ts';
import type { EventRow, SignEvent } from './sets.ts';
import * as store from './store.ts';
import type { FeedView, FeedWatch } from './watch.ts';

/** How many events that a service could not process are logged for one request. */
const maxLoggedErrors = 20;

/**
 * Hands out the events that a reader has not acknowledged, oldest first. Without any it waits for the next one.
 * @throws {AuthError} `conflict` for one reader too many; `gone` after an absence that is too long, once
 * @see RFC 8936 section 2
 */
export async function readFeed(
  ctx: Context,
  { watch, sign }: { readonly watch: FeedWatch; readonly sign: SignEvent },
  service: CallingService,
  { maxEvents, returnImmediately, ack, setErrs, reader: name }: FeedRequest,
  arrivedAt: number,
): Promise<FeedAnswer> {
  let view = await watch.fresh();
  const reader = await openReader(ctx, service, name, view);
  logErrors(ctx, service, setErrs);
  const position = await settle(ctx, reader, [...ack, ...Object.keys(setErrs)], view);
  const waits = !returnImmediately && maxEvents > 0;
  const deadline = arrivedAt + ctx.config.feedWaitSeconds * 1000;
  for (;;) {
    const rows =
      view.newest > position
        ? await store.listUnacknowledged(ctx.db.read, {
            reader_id: reader.id,
            after: position,
            up_to: view.position,
            except_ids: '[]',
            limit: maxEvents + 1,
          })
        : [];
    const waitMs = deadline - ctx.timers.monotonic();
    if (rows.length > 0 || !waits || waitMs <= 0 || ctx.stopping.aborted) {
      const begun = reader.begun ? ({ begun: true } as const) : {};
      return { ...(await answerOf(ctx, sign, service, rows, view, { maxEvents, arrivedAt })), ...begun };
    }
    await watch.changed(view, waitMs);
    view = await watch.recent();
  }
}

/** `rows` may have one event more than fits, which is the first one that is missing in the answer. */
async function answerOf(
  ctx: Context,
  sign: SignEvent,
  service: CallingService,
  rows: readonly EventRow[],
  view: FeedView,
  { maxEvents, arrivedAt }: { readonly maxEvents: number; readonly arrivedAt: number },
): Promise<FeedAnswer> {
  const included = rows.slice(0, maxEvents);
  const missing = rows[maxEvents];
  const through = Math.min(view.completeUntil, missing?.written_at ?? view.completeUntil);
  const signed = await Promise.all(included.map(async (row) => [row.id, await sign(service, row)] as const));
  ctx.metrics.feedEvents.inc(included.length);
  return {
    sets: Object.fromEntries(signed),
    moreAvailable: missing !== undefined,
    through: new Date(through).toISOString(),
    // Rounded down: it must not look fresher than it is.
    after: Math.floor(view.lookedAt - arrivedAt - (view.now - through)),
  };
}

function logErrors(ctx: Context, service: CallingService, errors: FeedRequest['setErrs']): void {
  const entries = Object.entries(errors);
  for (const [jti, { err, description = '' }] of entries.slice(0, maxLoggedErrors)) {
    const reason = { jti: redact(jti), err: redact(err), description: redact(description) };
    ctx.log.warn({ service: service.id, ...reason }, 'a service could not process an event');
  }
  const more = entries.length - maxLoggedErrors;
  if (more > 0) ctx.log.warn({ service: service.id, more }, 'a service could not process more events');
}
