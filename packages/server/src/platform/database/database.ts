import type { Timers } from '../timers.ts';
import type { Database, DatabaseOptions } from './executor.ts';
import { inspectDatabase } from './inspect.ts';
import { canWorkWith, newerStore } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite, sqlitePathOf } from './sqlite.ts';

/** Opens a database and brings its schema up to date. @throws {Error} if it is unreachable or of a newer release */
export function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const path = sqlitePathOf(url);
  return path === undefined ? openPostgres(url, options) : openSqlite(path, options);
}

/** Opens a database as it is. @throws {Error} if it is unreachable, missing or has a schema of another release */
export async function openExistingDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const { pending, later } = await inspectDatabase(url);
  if (!later.every((name) => canWorkWith(name))) throw newerStore();
  if (pending.length > 0) {
    throw new Error(
      'the database was written by an older release of Latchkey; run `latchkey-server migrate` or start the service',
    );
  }
  return openDatabase(url, { ...options, asIs: true });
}

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
