import { type Kysely, sql } from 'kysely';

const statements = [
  // Whether the program can ask its user for a code; the hash of the code that confirms an approval from another network; how often
  // a wrong one was tried, and what recognizes the last wrong try when it is repeated.
  'ALTER TABLE device_authorizations ADD COLUMN can_confirm INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE device_authorizations ADD COLUMN confirmation_hash TEXT',
  'ALTER TABLE device_authorizations ADD COLUMN confirmation_tries INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE device_authorizations ADD COLUMN confirmation_tried TEXT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
