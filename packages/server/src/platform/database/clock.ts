import type { Timers } from '../timers.ts';
import type { Database } from './executor.ts';

/** How long the clock runs on its own before it is compared with the database's clock again. */
const comparisonIntervalMs = 5_000;

/** The first query may also open its connection. */
const firstComparisons = 3;

/** How far two clocks may drift apart, more than the quartz of any machine does. */
const driftPerMs = 0.0001;

/**
 * The clock that decides what has expired. On PostgreSQL it follows the clock of the database, so all nodes agree, and one whose
 * own clock is wrong or jumps does no harm. On SQLite there is one node, and its clock is the time.
 */
export async function openClock(
  db: Pick<Database, 'dialect' | 'read'>,
  timers: Pick<Timers, 'monotonic'>,
): Promise<() => number> {
  if (db.dialect === 'sqlite') return Date.now;
  const clock = new DatabaseClock(db, timers);
  for (let count = 0; count < firstComparisons; count++) await clock.compare();
  return () => clock.now();
}

/** Between two comparisons the monotonic clock of this machine carries it on. */
class DatabaseClock {
  readonly #db: Pick<Database, 'read'>;
  readonly #timers: Pick<Timers, 'monotonic'>;
  /** What to add to the monotonic clock, and by how much that may have been wrong when it was measured. */
  #offsetMs = 0;
  #errorMs = Number.POSITIVE_INFINITY;
  #measuredAt = 0;
  #nextComparisonAt = 0;

  constructor(db: Pick<Database, 'read'>, timers: Pick<Timers, 'monotonic'>) {
    this.#db = db;
    this.#timers = timers;
  }

  /** Milliseconds since 1970, as an integer. */
  now(): number {
    const now = this.#timers.monotonic();
    // Without an answer the clock runs on.
    if (now >= this.#nextComparisonAt) this.compare().catch(() => undefined);
    return Math.floor(now + this.#offsetMs);
  }

  /**
   * Measures the offset. The answer was given at some time between the request and its arrival, so a slow one says little: it only
   * counts if the offset is known no better, or contradicts it.
   */
  async compare(): Promise<void> {
    const sentAt = this.#timers.monotonic();
    this.#nextComparisonAt = sentAt + comparisonIntervalMs;
    const [row] = await this.#db.read.run<{ now: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
      [],
    );
    const answeredAt = this.#timers.monotonic();
    const offsetMs = row!.now - (sentAt + answeredAt) / 2;
    const errorMs = (answeredAt - sentAt) / 2;
    const knownErrorMs = this.#errorMs + (answeredAt - this.#measuredAt) * driftPerMs;
    if (errorMs > knownErrorMs && Math.abs(offsetMs - this.#offsetMs) <= errorMs + knownErrorMs) return;
    this.#offsetMs = offsetMs;
    this.#errorMs = errorMs;
    this.#measuredAt = answeredAt;
  }
}
