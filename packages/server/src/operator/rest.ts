import type { Database } from '../platform/database/executor.ts';
import type { Lifecycle } from '../platform/http/server.ts';

/** Memory is given back within two of these after the last busy one. */
export const restIntervalMs = 20_000;

/** With no more requests than this in an interval, such as those of health checks, the process is at rest. */
const maxRequestsAtRest = 20;

/** Returns what is to be called in each interval: it collects all garbage once after the process was busy, when it is at rest. */
export function watchRest(lifecycle: Pick<Lifecycle, 'handled'>, giveBack: () => void): () => void {
  let handledBefore = lifecycle.handled;
  let wasBusy = false;
  return () => {
    const isBusy = lifecycle.handled - handledBefore > maxRequestsAtRest;
    handledBefore = lifecycle.handled;
    if (!isBusy && wasBusy) giveBack();
    wasBusy = isBusy;
  };
}

/** Returns freed memory to the operating system. It takes some ten milliseconds, in which no request is answered. */
export function giveBackMemory(db: Database): void {
  db.shrink();
  Bun.gc(true);
  Bun.shrink();
}
