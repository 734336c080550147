// Rows that the next sweep deletes.

import { Database as Connection } from 'bun:sqlite';
import postgres from 'postgres';

/** Longer ago than such rows are kept. */
const expiredAgoMs = 2 * 86_400_000;

const columns =
  'id, user_code_hash, status, client_name, device_name, ip_address, user_agent, created_at, expires_at, interval_seconds, last_poll_at';

/** An unapproved device authorization of realistic size. They expired one millisecond apart. */
const values = (random: string, first: number): string =>
  `${random}, ${random}, 'pending', 'latchkey', 'a-laptop-of-somebody', '192.0.2.44', 'latchkey/0.1.0 (linux x64) bun/1.4',
   ${first} + n - 600000, ${first} + n, 5, 0`;

/** The device authorizations in a database that are to be swept. */
export interface DeadRows {
  /** How many of them are left. */
  left(): Promise<number>;
  close(): Promise<void>;
}

/** Adds expired device authorizations to a database. */
export async function addDeadRows(databaseUrl: string, count: number): Promise<DeadRows> {
  const first = Date.now() - expiredAgoMs - count;
  if (databaseUrl.startsWith('sqlite:')) {
    const db = new Connection(databaseUrl.slice('sqlite:'.length), { strict: true });
    db.run('PRAGMA cache_size = -1000000');
    db.run(`WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers LIMIT ${count})
      INSERT INTO device_authorizations (${columns}) SELECT ${values('lower(hex(randomblob(16)))', first)} FROM numbers`);
    db.run('PRAGMA cache_size = -1000');
    // A sweep deletes the oldest first, and the index knows at once which that is.
    const oldest = db.query<{ at: number | null }, []>(
      'SELECT min(expires_at) AS at FROM device_authorizations',
    );
    return {
      left: async () => first + count - (oldest.get()!.at ?? first + count),
      close: async () => db.close(),
    };
  }
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`INSERT INTO device_authorizations (${columns})
    SELECT ${values("replace(gen_random_uuid()::text, '-', '')", first)} FROM generate_series(0, ${count - 1}) AS n`);
  await sql`VACUUM ANALYZE`;
  await sql`CHECKPOINT`;
  return {
    // In no order there. The counter is up to a second behind.
    left: async () => {
      const [table] = await sql<{ deleted: number }[]>`SELECT n_tup_del::integer AS deleted
        FROM pg_stat_user_tables WHERE relname = 'device_authorizations'`;
      return count - table!.deleted;
    },
    close: () => sql.end(),
  };
}
