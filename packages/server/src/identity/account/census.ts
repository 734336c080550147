// Counts accounts and sessions for the metrics.

import type { Context } from '../../platform/context.ts';
import * as store from './store.ts';

/** How many accounts are counted at once. On SQLite requests wait for that. */
const pageSize = 1_000;

/** How many times as long as a page took the census then rests, so that it takes at most 0.5% of the time of a core. */
const usualRestFactor = 200;

/** The pause between two censuses. */
const pauseMs = 60_000;

/** Counts all accounts and active sign-ins, one page after the other; undefined if it is aborted. */
export async function countAccounts(
  ctx: Context,
  signal?: AbortSignal,
  { limit, restFactor } = { limit: pageSize, restFactor: usualRestFactor },
): Promise<{ accounts: number; sessions: number } | undefined> {
  let [accounts, sessions] = [0, 0];
  for (let after = ''; ; ) {
    const startedAt = ctx.timers.monotonic();
    const [page] = await store.countPage(ctx.db.read, { after, now: ctx.clock(), limit });
    accounts += Number(page?.accounts ?? 0);
    sessions += Number(page?.sessions ?? 0);
    if (!page?.last_id || Number(page.accounts) < limit) return { accounts, sessions };
    after = page.last_id;
    await ctx.timers.sleep((ctx.timers.monotonic() - startedAt) * restFactor, signal);
    if (signal?.aborted) return undefined;
  }
}

/** Counts until it is aborted, so that reading the metrics costs nothing. NaN before the first, and after a failed, count. */
export async function keepCounting(ctx: Context, signal: AbortSignal): Promise<void> {
  const { accounts, activeSessions } = ctx.metrics;
  const failed = { accounts: Number.NaN, sessions: Number.NaN };
  while (!signal.aborted) {
    const counted = await countAccounts(ctx, signal).catch(() => failed);
    if (counted) {
      accounts.set(counted.accounts);
      activeSessions.set(counted.sessions);
    }
    await ctx.timers.sleep(pauseMs, signal);
  }
}
