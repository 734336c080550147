import { type Kysely, sql } from 'kysely';

const statements = [
  // The number of wrong addresses entered with the link of an email change. The link ends at the limit.
  'ALTER TABLE email_changes ADD COLUMN wrong_addresses INTEGER NOT NULL DEFAULT 0',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
