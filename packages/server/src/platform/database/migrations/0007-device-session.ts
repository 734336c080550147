import { type Kysely, sql } from 'kysely';

const statements = [
  // The session that an approval will start, so that the approver can recognize it. Null in rows of an earlier
  // release: it follows from the device code alone, which is not stored.
  'ALTER TABLE device_authorizations ADD COLUMN session_id TEXT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
