import { type Kysely, sql } from 'kysely';

const statements = [
  // Where a sign-in mail was requested, which the mail tells. Null in rows of earlier releases.
  'ALTER TABLE magic_links ADD COLUMN ip_address TEXT',
  'ALTER TABLE magic_links ADD COLUMN user_agent TEXT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
