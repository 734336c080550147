import type { Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import type { Tables } from '../platform/database/schema.ts';
import { type CredentialChange, writeFeedEvent } from '../security-log/feed/feed.ts';

type EndedSession = Pick<Tables['sessions'], 'id' | 'kind'>;

/** Announces to services that a key was made or removed, in the transaction that does so. Call it last. */
export const announceKey = (
  ctx: Context,
  tx: Executor,
  userId: string,
  sessionId: string,
  change_type: CredentialChange,
): Promise<void> =>
  writeFeedEvent(ctx, tx, {
    type: 'credential-change',
    userId,
    sessionId,
    detail: { credential_type: 'key', change_type },
  });

/**
 * Announces to services that a session or key has ended, in the transaction that ends it. Whatever ends a single session
 * calls this, last. Runs within the session need no announcement of their own.
 */
export const announceEnd = (
  ctx: Context,
  tx: Executor,
  userId: string,
  { id, kind }: EndedSession,
): Promise<void> =>
  kind === 'key'
    ? announceKey(ctx, tx, userId, id, 'delete')
    : writeFeedEvent(ctx, tx, { type: 'session-revoked', userId, sessionId: id });
