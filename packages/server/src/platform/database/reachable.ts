import type { Timers } from '../timers.ts';

/** How long a start waits for the database, for example while that starts as well. */
export const reachDeadlineMs = 60_000;

const firstPauseMs = 250;
const maxPauseMs = 8_000;

/**
 * Repeats `open` in growing pauses while it fails because the database is out of reach; after the deadline its error is final.
 * @param onWait called once, with the first error, when the wait begins
 */
export async function whenReachable<T>(
  timers: Timers,
  open: () => Promise<T>,
  isOutOfReach: (error: unknown) => boolean,
  onWait: (error: unknown) => void,
): Promise<T> {
  const deadline = timers.monotonic() + reachDeadlineMs;
  for (let attempts = 0; ; attempts++) {
    try {
      return await open();
    } catch (error) {
      const leftMs = deadline - timers.monotonic();
      if (!isOutOfReach(error) || leftMs <= 0) throw error;
      if (attempts === 0) onWait(error);
      await timers.sleep(Math.min(firstPauseMs * 2 ** attempts, maxPauseMs, leftMs));
    }
  }
}
