import type { Context } from '../context.ts';
import { isTrustedPeer } from '../values/client-address.ts';
import type { ConnectionInfo } from './exchange.ts';

/** The log gets at most one warning in this time. */
const warningIntervalMs = 60 * 60 * 1000;

/**
 * Counts requests with forwarding headers from an untrusted peer, and warns about them. They are the sign of a proxy
 * that is missing from `LATCHKEY_TRUSTED_PROXIES`, behind which all clients share one address.
 */
export function watchForwardingHeaders(ctx: Context): (connection: ConnectionInfo, headers: Headers) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (connection, headers) => {
    if (!headers.has('X-Forwarded-For') && !headers.has('Forwarded')) return;
    const { peer } = connection;
    if (isTrustedPeer(peer, ctx.config.trustedProxies)) return;
    ctx.metrics.untrustedForwards.inc();
    const now = ctx.clock();
    if (now - warnedAt < warningIntervalMs) return;
    warnedAt = now;
    ctx.log.warn(
      { peer: peer ?? null },
      'ignored forwarding headers from a peer that LATCHKEY_TRUSTED_PROXIES does not name',
    );
  };
}
