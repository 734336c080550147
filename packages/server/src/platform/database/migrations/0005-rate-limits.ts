import { type Kysely, sql } from 'kysely';

const tables = [
  // What was counted against a limit in the window that runs. `key` is the limit's name and a hash; the columns
  // and their order are those of rate-limiter-flexible. On SQLite, where one process counts, it stays empty.
  `CREATE TABLE rate_limits (
    key VARCHAR(255) PRIMARY KEY,
    points INTEGER NOT NULL DEFAULT 0,
    expire BIGINT
  )`,
  'CREATE INDEX rate_limits_by_expiry ON rate_limits (expire)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of tables) await sql.raw(table).execute(db);
}
