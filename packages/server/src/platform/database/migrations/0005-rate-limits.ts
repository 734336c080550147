import { type Kysely, sql } from 'kysely';

const tables = [
  // Requests counted in the current window of a rate limit. `key` is the name of the limit and a hash; rate-limiter-
  // flexible determines the columns and their order. Empty on SQLite, where a single process counts in memory.
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
