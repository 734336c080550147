import type { Timers } from '../timers.ts';
import type { Database } from './executor.ts';

/** How long the clock runs on its own before it is compared with the database's clock again. */
const comparisonIntervalMs = 5_000;

/** The first query may also open its connection. */
const firstComparisons = 3;

/** How far two clocks may drift apart, more than the quartz of any machine does. */
const driftPerMs = 0.0001;

/**
 * The clock that decides what has expired, in integral milliseconds since 1970. On PostgreSQL it follows the
 * clock of the database, so all nodes agree: the monotonic clock of the machine only carries it on between
 * two comparisons. On SQLite there is one node, and its clock is the time.
 */
export async function openClock(
  { dialect, read }: Pick<Database, 'dialect' | 'read'>,
  { monotonic }: Pick<Timers, 'monotonic'>,
): Promise<() => number> {
  if (dialect === 'sqlite') return Date.now;
  /** What to add to the monotonic clock, and by how much that may have been wrong when it was measured. */
  let known = { offsetMs: 0, errorMs: Number.POSITIVE_INFINITY, measuredAt: 0 };
  let nextComparisonAt = 0;

  /**
   * Measures the offset. The database may read its clock at any time before the response, so a slow one
   * counts only if the known offset is less precise, or if the two contradict each other.
   */
  const compare = async (): Promise<void> => {
    const sentAt = monotonic();
    nextComparisonAt = sentAt + comparisonIntervalMs;
    const statement = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now';
    const [row] = await read.run<{ now: number }>(statement, []);
    const measuredAt = monotonic();
    const offsetMs = row!.now - (sentAt + measuredAt) / 2;
    const errorMs = (measuredAt - sentAt) / 2;
    const knownErrorMs = known.errorMs + (measuredAt - known.measuredAt) * driftPerMs;
    if (errorMs > knownErrorMs && Math.abs(offsetMs - known.offsetMs) <= errorMs + knownErrorMs) return;
    known = { offsetMs, errorMs, measuredAt };
  };

  for (let count = 0; count < firstComparisons; count++) await compare();
  return () => {
    const now = monotonic();
    // Without an answer the clock runs on.
    if (now >= nextComparisonAt) compare().catch(() => undefined);
    return Math.floor(now + known.offsetMs);
  };
}
