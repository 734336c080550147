// Rows that the next sweep deletes.

import { Database as Connection } from 'bun:sqlite';
import postgres from 'postgres';

/** Longer ago than such rows are kept. */
const expiredAgoMs = 2 * 86_400_000;

const columns =
  'id, user_code_hash, status, client_name, device_name, ip_address, user_agent, created_at, expires_at, interval_seconds, last_poll_at';

/** A device authorization that nobody approved, of about the size of a real one. Each expired a millisecond after the one before. */
const values = (random: string, first: number): string =>
  `${random}, ${random}, 'pending', 'latchkey', 'a-laptop-of-somebody', '192.0.2.44', 'latchkey/0.1.0 (linux x64) bun/1.4',
   ${first} + n - 600000, ${first} + n, 5, 0`;

/** The device authorizations in a database that are to be swept. */
export interface DeadRows {
  /** How many of them are left. */
  left(): Promise<number>;
  close(): Promise<void>;
}

/** Adds expired device authorizations to a database. A sweep deletes them in the order in which they expired. */
export async function addDeadRows(databaseUrl: string, count: number): Promise<DeadRows> {
  const first = Date.now() - expiredAgoMs - count;
  const oldest = 'SELECT min(expires_at) AS at FROM device_authorizations';
  const leftFrom = (at: unknown) => (at === null ? 0 : first + count - Number(at));
  if (databaseUrl.startsWith('sqlite:')) {
    const db = new Connection(databaseUrl.slice('sqlite:'.length), { strict: true });
    db.run('PRAGMA cache_size = -1000000');
    db.run(`WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers LIMIT ${count})
      INSERT INTO device_authorizations (${columns}) SELECT ${values('lower(hex(randomblob(16)))', first)} FROM numbers`);
    db.run('PRAGMA cache_size = -1000');
    const query = db.query<{ at: number | null }, []>(oldest);
    return { left: async () => leftFrom(query.get()!.at), close: async () => db.close() };
  }
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`INSERT INTO device_authorizations (${columns})
    SELECT ${values("replace(gen_random_uuid()::text, '-', '')", first)} FROM generate_series(0, ${count - 1}) AS n`);
  await sql`VACUUM ANALYZE`;
  await sql`CHECKPOINT`;
  return {
    left: async () => leftFrom((await sql.unsafe(oldest))[0]!['at']),
    close: () => sql.end(),
  };
}
