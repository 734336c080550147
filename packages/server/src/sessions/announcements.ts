import type { Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import type { Tables } from '../platform/database/schema.ts';
import {
  type CredentialChange,
  type FeedEvent,
  writeFeedEvents,
} from '../security-log/feed-events/feed-events.ts';

type EndedSession = Pick<Tables['sessions'], 'id' | 'kind' | 'within_session_id'>;

const keyEvent = (userId: string, sessionId: string, change_type: CredentialChange): FeedEvent => ({
  type: 'credential-change',
  userId,
  sessionId,
  detail: { credential_type: 'key', change_type },
});

/** Announces to services that a key was made, in the transaction that makes it. Call it last. */
export const announceNewKey = (ctx: Context, tx: Executor, userId: string, id: string): Promise<void> =>
  writeFeedEvents(ctx, tx, [keyEvent(userId, id, 'create')]);

/**
 * Announces to services that sessions, keys and runs have ended, in the transaction that ends them. Call it last. What is within
 * another one of them, or within one that ends alone, needs no announcement of its own.
 */
export async function announceEnds(
  ctx: Context,
  tx: Executor,
  userId: string,
  ended: readonly EndedSession[],
): Promise<void> {
  const ids = new Set(ended.map(({ id }) => id));
  const outermost = ended.filter(({ within_session_id }) => !ids.has(within_session_id ?? ''));
  const eventOf = ({ id, kind }: EndedSession): FeedEvent =>
    kind === 'key' ? keyEvent(userId, id, 'delete') : { type: 'session-revoked', userId, sessionId: id };
  await writeFeedEvents(ctx, tx, outermost.map(eventOf));
}
