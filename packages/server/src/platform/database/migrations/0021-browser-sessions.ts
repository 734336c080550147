import { type Kysely, sql } from 'kysely';

/** Lets a sign-in find an account's newest browsers without reading the sessions of its devices, which can be many more. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw("CREATE INDEX browser_sessions_by_user ON sessions (user_id, created_at) WHERE kind = 'browser'")
    .execute(db);
}
