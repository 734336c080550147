import type { Logger } from 'pino';
import type { Database, Executor } from './executor.ts';

const sweepIntervalMs = 60_000;
const batchSize = 500;

/** How many batches of one table a sweep deletes at most; the rest waits for the next one. */
const maxBatches = 200;

/** Deletes at most `limit` rows that are of no more use at `now`; answers with a row for each. */
export type Sweep = (on: Executor, now: number, limit: number) => Promise<unknown[]>;

/** Deletes rows that are of no more use, in batches small enough to keep nobody waiting. */
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

/** Sweeps every minute, on every node: rows that another node is deleting are passed over. */
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
