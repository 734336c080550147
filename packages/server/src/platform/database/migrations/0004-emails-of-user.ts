import { type Kysely, sql } from 'kysely';

const statements = [
  // The account that an email is about, whichever address it goes to. Null for sign-in emails, whose address may have none.
  'ALTER TABLE outbox ADD COLUMN user_id TEXT',
  'CREATE INDEX outbox_by_user ON outbox (user_id, created_at, id) WHERE user_id IS NOT NULL',
  'CREATE INDEX outbox_by_recipient ON outbox (recipient_key, created_at, id)',
];

/** Lets operators list the emails to a user, a page at a time. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
