import type { Context } from '../context.ts';
import { isTrustedPeer } from '../values/client-address.ts';
import type { ConnectionInfo } from './exchange.ts';

/** How often the log says it at most. */
const warningIntervalMs = 60 * 60 * 1000;

/**
 * Notes requests that say on whose behalf they come, from a peer that is not trusted to say so: the sign of a
 * proxy that the settings do not name, behind which everybody has one address.
 */
export function watchForwardingHeaders(ctx: Context): (env: ConnectionInfo, headers: Headers) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (env, headers) => {
    if (!headers.has('X-Forwarded-For') && !headers.has('Forwarded')) return;
    const { peer } = env;
    if (isTrustedPeer(peer, ctx.config.trustedProxies)) return;
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
