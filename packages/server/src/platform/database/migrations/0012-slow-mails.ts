import { type Kysely, sql } from 'kysely';

const statements = [
  // How many attempts to send a mail took long and failed. Mails that were slow share a part of the worker's slots.
  'ALTER TABLE outbox ADD COLUMN slow_attempts INTEGER NOT NULL DEFAULT 0',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
