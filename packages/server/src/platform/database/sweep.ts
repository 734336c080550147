import type { Logger } from 'pino';
import type { Database, Executor } from './executor.ts';

const sweepIntervalMs = 60_000;
const batchSize = 500;

/** How many batches of one table a sweep deletes at most. The next sweep deletes the rest. */
const maxBatches = 200;

/** Deletes at most `limit` rows that are no longer needed at `now`. Returns one row for each. */
export type Sweep = (on: Executor, now: number, limit: number) => Promise<unknown[]>;

/** Deletes rows that are no longer needed, in batches small enough not to delay requests. Returns how many. */
export async function sweepOnce(db: Database, sweeps: readonly Sweep[], now: number): Promise<number> {
  let deleted = 0;
  for (const sweep of sweeps) {
    for (let batch = 0; batch < maxBatches; batch++) {
      const rows = await sweep(db.single, now, batchSize);
      deleted += rows.length;
      if (rows.length < batchSize) break;
    }
  }
  return deleted;
}

/** Sweeps every minute. Every node does: it skips rows that another node is deleting. */
export function startSweeper(
  db: Database,
  sweeps: readonly Sweep[],
  clock: () => number,
  log: Logger,
): { stop(): Promise<void> } {
  let running: Promise<unknown> = Promise.resolve();
  const sweep = () => {
    running = running
      .then(() => sweepOnce(db, sweeps, clock()))
      .then((deleted) => deleted > 0 && log.info({ deleted }, 'swept'))
      .catch(() => log.warn('the sweep failed'));
  };
  const timer = setInterval(sweep, sweepIntervalMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
