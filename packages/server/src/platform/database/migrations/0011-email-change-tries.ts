import { type Kysely, sql } from 'kysely';

const statements = [
  // How many wrong addresses were given with the link of a change of address; the link ends at the limit.
  'ALTER TABLE email_changes ADD COLUMN wrong_addresses INTEGER NOT NULL DEFAULT 0',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
