import type { Timers } from '../timers.ts';
import type { Database, DatabaseOptions } from './executor.ts';
import { inspectDatabase } from './inspect.ts';
import { canWorkWith, newerStore } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite, sqlitePathOf } from './sqlite.ts';

/**
 * Opens the database of a URL and brings its schema up to date. Creates a SQLite file that does not exist.
 * @throws {Error} when the database is unreachable, or this program cannot use the schema of a newer release
 */
export function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const path = sqlitePathOf(url);
  return path === undefined ? openPostgres(url, options) : openSqlite(path, options);
}

/**
 * Opens an existing database without creating or migrating anything.
 * @throws {Error} when the database is unreachable or missing, or has a schema that this program cannot use
 */
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

/** How long a start waits for the database, for example because the database is starting as well. */
export const reachDeadlineMs = 60_000;

const firstPauseMs = 250;
const maxPauseMs = 8_000;

/**
 * Retries `open` with growing pauses while the database is unreachable. Throws its error after the deadline.
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
