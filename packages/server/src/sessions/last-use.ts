import type { Context } from '../platform/context.ts';
import type { Tables } from '../platform/database/schema.ts';
import * as store from './store.ts';

const maxWriteIntervalMs = 5 * 60 * 1000;

/** The columns of a session that decide whether a use of it is recorded. A key that was never used has 0. */
type LastUse = Pick<Tables['sessions'], 'id' | 'kind' | 'last_used_at'>;

/** The shortest interval between two writes of a session's last use. Shorter for short idle timeouts; keys have none. */
const writeIntervalMs = (ctx: Context, { kind }: LastUse): number =>
  kind === 'key' ? maxWriteIntervalMs : Math.min(maxWriteIntervalMs, ctx.config.refreshIdleTtlSeconds * 100);

/**
 * Records that a session is in use, at most once per interval; returns whether it was due. With `extendsIdleTimeout` the
 * idle timeout starts again. Only the first use of a key is awaited, because the response makes it certain. Losing another
 * one does no harm, and waiting would delay the response.
 */
export async function recordUse(
  ctx: Context,
  session: Readonly<LastUse>,
  now: number,
  extendsIdleTimeout = false,
): Promise<boolean> {
  const intervalMs = writeIntervalMs(ctx, session);
  if (now - session.last_used_at < intervalMs) return false;
  const written = store
    .touchSession(ctx.db.single, {
      id: session.id,
      now,
      unless_since: now - intervalMs + 1,
      idle_expires_at: extendsIdleTimeout ? now + ctx.config.refreshIdleTtlSeconds * 1000 : 0,
    })
    .catch(() => ctx.log.warn('the last use of a session could not be recorded'));
  if (session.last_used_at === 0) await written;
  return true;
}
