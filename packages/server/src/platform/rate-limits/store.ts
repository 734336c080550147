import type { Database } from '../database/executor.ts';
import { statement } from '../database/statement.ts';
import { sweepStatement } from '../database/sweep.ts';

/** Adds one point to the window of a key, or starts a new window if that has ended. Returns the window. */
export const countPoint = statement<{ key: string; now: number; ends_at: number }>()((db, p) =>
  db
    .insertInto('rate_limits')
    .values({ key: p.key, points: 1, expire: p.ends_at })
    .onConflict((c) =>
      c.column('key').doUpdateSet((e) => {
        const hasEnded = e('rate_limits.expire', '<=', p.now);
        return {
          points: e
            .case()
            .when(hasEnded)
            .then(1)
            .else(e('rate_limits.points', '+', 1))
            .end(),
          expire: e.case().when(hasEnded).then(p.ends_at).else(e.ref('rate_limits.expire')).end(),
        };
      }),
    )
    .returning(['points', (e) => e.fn.coalesce('expire', p.ends_at).as('expire')]),
);

const probeKey = 'readiness';

const findWindow = statement<{ key: string }>()((db, p) =>
  db.selectFrom('rate_limits').select('points').where('key', '=', p.key),
);

/** Fails unless the database can be read and accepts a write. Uses a window that limits nothing. */
export async function probe({ read, single }: Pick<Database, 'read' | 'single'>, now: number): Promise<void> {
  await findWindow(read, { key: probeKey });
  await countPoint(single, { key: probeKey, now, ends_at: now });
}

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

export const sweepRateLimits = sweepStatement()('rate_limits', 'key', (e, p) => e('expire', '<', p.before));
