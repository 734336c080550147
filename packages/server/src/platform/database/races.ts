import { temporarilyUnavailable } from '../errors.ts';
import type { Database, Executor } from './executor.ts';

/** Rolls back a transaction that locked too late: what it had decided by has changed meanwhile. */
export class Raced extends Error {}

const maxRaces = 20;

/**
 * Runs transactions until one returns `done`. After one that throws `Raced`, the next starts over.
 * @throws {AuthError} `temporarily_unavailable`, with `kept` as its cause, if that never ends
 */
export async function untilDone(
  db: Database,
  kept: string,
  work: (tx: Executor) => Promise<'done' | 'more'>,
): Promise<void> {
  for (let races = 0; races < maxRaces; ) {
    try {
      if ((await db.transaction(work)) === 'done') return;
    } catch (error) {
      if (!(error instanceof Raced)) throw error;
      races++;
    }
  }
  throw temporarilyUnavailable(new Error(kept));
}
