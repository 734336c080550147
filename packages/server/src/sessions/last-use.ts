import type { Context } from '../platform/context.ts';
import * as store from './store.ts';

/** The shortest interval between two writes of a session's last use. Shorter for short idle timeouts. */
const writeIntervalMs = (ctx: Context): number =>
  Math.min(5 * 60 * 1000, ctx.config.refreshIdleTtlSeconds * 100);

/**
 * Records that a session is in use, at most once per interval; returns whether it was due. With `extendsIdleTimeout` the
 * idle timeout starts anew. The write is not awaited: losing one does no harm, and waiting would delay the response.
 */
export function recordUse(
  ctx: Context,
  session: { readonly id: string; readonly last_used_at: number },
  now: number,
  extendsIdleTimeout = false,
): boolean {
  const intervalMs = writeIntervalMs(ctx);
  if (now - session.last_used_at < intervalMs) return false;
  store
    .touchSession(ctx.db.single, {
      id: session.id,
      now,
      unless_since: now - intervalMs + 1,
      idle_expires_at: extendsIdleTimeout ? now + ctx.config.refreshIdleTtlSeconds * 1000 : 0,
    })
    .catch(() => ctx.log.warn('the last use of a session could not be recorded'));
  return true;
}
