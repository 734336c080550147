import type { Database } from './executor.ts';

/** How long the clock runs on its own before it is compared with the database's clock again. */
const comparisonIntervalMs = 5_000;

/** A slower answer says too little about when it was given. */
const maxRoundTripMs = 500;

/**
 * The clock that decides what has expired. On PostgreSQL it follows the clock of the database, so all nodes agree, and one whose
 * own clock is wrong or jumps does no harm. On SQLite there is one node, and its clock is the time.
 */
export async function openClock(db: Database): Promise<() => number> {
  if (db.dialect === 'sqlite') return Date.now;
  const clock = new DatabaseClock(db);
  await clock.compare();
  return () => clock.now();
}

/** Between two comparisons the monotonic clock of this machine carries it on. */
class DatabaseClock {
  readonly #db: Database;
  /** What to add to the monotonic clock. */
  #offsetMs: number | undefined;
  #nextComparisonAt = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Milliseconds since 1970, as an integer. */
  now(): number {
    const now = performance.now();
    // Without an answer the clock runs on.
    if (now >= this.#nextComparisonAt) this.compare().catch(() => undefined);
    return Math.floor(now + this.#offsetMs!);
  }

  async compare(): Promise<void> {
    const sentAt = performance.now();
    this.#nextComparisonAt = sentAt + comparisonIntervalMs;
    const [row] = await this.#db.read.run<{ now: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
      [],
    );
    const answeredAt = performance.now();
    if (this.#offsetMs !== undefined && answeredAt - sentAt > maxRoundTripMs) return;
    this.#offsetMs = row!.now - (sentAt + answeredAt) / 2;
  }
}
