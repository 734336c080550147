import { type Kysely, sql } from 'kysely';

const statements = [
  // The passkey that confirmed the approval; null where a recent sign-in was enough.
  'ALTER TABLE device_authorizations ADD COLUMN passkey_id TEXT',
  'ALTER TABLE authorization_codes ADD COLUMN passkey_id TEXT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
