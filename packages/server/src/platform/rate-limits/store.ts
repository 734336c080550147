import { statement } from '../database/statement.ts';
import { sweepStatement } from '../database/sweep.ts';

export const rateLimitTable = 'rate_limits';

/** Subtracts one point from the window that ends in this span. Other windows of the key are not changed. */
export const refundPoint = statement<{ key: string; ends_after: number; ends_before: number }>()((db, p) =>
  db
    .updateTable('rate_limits')
    .set((e) => ({ points: e('points', '-', 1) }))
    .where('key', '=', p.key)
    .where('points', '>', 0)
    .where('expire', '>', p.ends_after)
    .where('expire', '<', p.ends_before),
);

/** Deletes a batch of windows that ended before a moment. */
export const sweepRateLimits = sweepStatement()('rate_limits', 'key', (e, p) => e('expire', '<', p.before));
