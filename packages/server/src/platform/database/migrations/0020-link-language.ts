import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // What the browser that requested a sign-in mail prefers. Null for English, and in rows of earlier releases.
  await sql.raw('ALTER TABLE magic_links ADD COLUMN language TEXT').execute(db);
}
