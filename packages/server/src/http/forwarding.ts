import type { Context } from '../context.ts';
import { isUnnamedProxy } from './client-address.ts';

/** How often the log says it at most. */
const warningIntervalMs = 60 * 60 * 1000;

/** Notes requests that come through a proxy that the settings do not name. */
export function forwardingWatch(ctx: Context): (peer: string | undefined, headers: Headers) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (peer, headers) => {
    if (!isUnnamedProxy(peer, headers, ctx.config.trustedProxies)) return;
    ctx.metrics.untrustedForwards.inc();
    const now = ctx.clock();
    if (now - warnedAt < warningIntervalMs) return;
    warnedAt = now;
    ctx.log.warn(
      { peer: peer ?? null },
      'forwarding headers came from a peer that LATCHKEY_TRUSTED_PROXIES does not name, and were ignored',
    );
  };
}
