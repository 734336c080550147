// The events that services read, and up to where they can be read. trust/feed/ hands them out.

import type { Context } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/primitives.ts';
import type { Database, Executor } from '../../platform/database/executor.ts';
import { commitsChannel } from '../../platform/database/sqlite.ts';
import * as store from './store.ts';

export type CredentialChange = 'create' | 'update' | 'delete';

/** What a service can read about an account. */
export type FeedEvent = { readonly userId: string } & (
  | {
      readonly type: 'session-revoked';
      /** Without one, all sessions and keys have ended. What is within an ended session ended with it. */
      readonly sessionId?: string;
    }
  | {
      readonly type: 'credential-change';
      /** With the id of a key, its kind is `key`. */
      readonly sessionId?: string;
      readonly detail: { readonly credential_type: string; readonly change_type: CredentialChange };
    }
  | { readonly type: 'account-disabled' | 'account-enabled' | 'account-purged' }
  | {
      readonly type: 'membership-changed';
      readonly detail: {
        readonly organization: { readonly id: string; readonly slug: string };
        /** Null if the user is no longer a member. */
        readonly role: string | null;
      };
    }
  | { readonly type: 'profile-changed'; readonly detail: { readonly fields: readonly string[] } }
);

/** Writes an event in the transaction of its cause. Call it last: it holds up later events until the end. */
export const writeFeedEvent = (ctx: Context, tx: Executor, event: FeedEvent): Promise<void> =>
  writeFeedEvents(ctx, tx, [event]);

/** Writes any number of events like `writeFeedEvent`. */
export async function writeFeedEvents(ctx: Context, tx: Executor, events: readonly FeedEvent[]) {
  if (events.length === 0) return;
  const rows = events.map((event) => rowOf(ctx, event));
  // Pipelined, in this order.
  await Promise.all([
    ...(tx.dialect === 'postgres' ? [store.announceWriter(tx, {})] : []),
    store.insertEvents(tx, { events: JSON.stringify(rows), now: ctx.clock() }),
  ]);
}

const rowOf = (ctx: Context, event: FeedEvent): store.NewEvent => ({
  id: newId('evt_', ctx.random),
  type: event.type,
  user_id: event.userId,
  session_id: 'sessionId' in event ? (event.sessionId ?? null) : null,
  detail: JSON.stringify('detail' in event ? event.detail : {}),
});

/** How far the feed can be read at a moment. */
export interface FeedExtent {
  /** All events up to this position are committed or will never be. */
  readonly position: number;
  /** The newest event up to there, 0 if there is none. */
  readonly newest: number;
  /** When this was true: milliseconds since 1970, by the database's clock. */
  readonly now: number;
  /** Every event committed before this moment is up to `position`. */
  readonly completeUntil: number;
}

/**
 * How far the feed can be read now. `previous` is an earlier result, which saves two queries if it still
 * holds.
 * On PostgreSQL a transaction with a lower number may commit after one with a higher number, and must not be
 * passed over. So before a writer draws its first number, it locks the number drawn last, until it has
 * committed. Here the number drawn last is read first, the locks after it, and the events last. A writer
 * whose event is committed only after that has a higher number than either its lock, which was seen, or the
 * number drawn last. Only locks of connections that write events count, so no other role or transaction
 * delays the feed.
 */
export async function readExtent(
  { clock, on }: Pick<Context, 'clock'> & { readonly on: Executor },
  previous?: FeedExtent,
): Promise<FeedExtent> {
  if (on.dialect === 'sqlite') {
    const now = clock();
    const [extent] = await store.findExtent(on, { up_to: Number.MAX_SAFE_INTEGER });
    const newest = Number(extent?.newest ?? 0);
    return { position: newest, newest, now, completeUntil: now };
  }
  const [last] = await store.findLastDrawn(on, {});
  const { drawn, now } = last!;
  if (previous?.position === drawn) return { ...previous, now, completeUntil: now };
  const [lowest] = await store.lowestWriter(on, {});
  const position = Math.min(drawn, lowest?.position ?? drawn);
  const [extent] = await store.findExtent(on, { up_to: position });
  return {
    position,
    newest: Number(extent?.newest ?? 0),
    now,
    completeUntil: Math.min(now, extent?.held_since ?? now),
  };
}

/** Calls `wake` soon after events were committed on any node. May miss some, and may call it in vain. */
export const listenToFeed = ({ dialect, notifications }: Database, wake: () => void): void => {
  notifications.listen(dialect === 'sqlite' ? commitsChannel : store.feedChannel, wake);
};

/** Where a service begins to read: columns of its key, for the transaction that grants the right. */
export const feedStart = async (ctx: Context, tx: Executor) => ({
  feed_since: ctx.clock(),
  feed_from: (await readExtent({ clock: ctx.clock, on: tx })).position,
});
