import { type Kysely, sql } from 'kysely';

const statements = [
  // A program may leave thousands of ended runs in an account. What looks for sign-ins or keys reads only those.
  'CREATE INDEX sessions_by_kind ON sessions (user_id, kind, created_at)',
  // What looks for runs passes over ended ones without reading their rows. SQLite prefers the newer of two indexes that look equally good.
  'CREATE INDEX runs_by_user ON sessions (user_id, created_at, idle_expires_at) WHERE path IS NOT NULL',
  // Last, because it keeps readers out: until then only writers wait.
  'DROP INDEX browser_sessions_by_user',
  'DROP INDEX sessions_by_user',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
