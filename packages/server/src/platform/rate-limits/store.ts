import { statement } from '../database/statement.ts';

export const rateLimitTable = 'rate_limits';

/** Subtracts one point from the window that ends in this span. Other windows of the key are not changed. */
export const refundPoint = statement<{ key: string; ends_after: number; ends_before: number }>()((db, p) =>
  db
    .updateTable(rateLimitTable)
    .set((e) => ({ points: e('points', '-', 1) }))
    .where('key', '=', p.key)
    .where('points', '>', 0)
    .where('expire', '>', p.ends_after)
    .where('expire', '<', p.ends_before),
);

/** Deletes windows that ended before a time, at most `limit`. */
export const sweepRateLimits = statement<{ before: number; limit: number }>()((db, p, dialect) =>
  db
    .deleteFrom(rateLimitTable)
    .where('key', 'in', (e) =>
      e
        .selectFrom(rateLimitTable)
        .select('key')
        .where('expire', '<', p.before)
        .limit(p.limit)
        .$if(dialect === 'postgres', (q) => q.forUpdate().skipLocked()),
    )
    .returning('key'),
);
