import { type Kysely, sql } from 'kysely';

const statements = [
  // The login that an approval will start, so that whoever approves can tell it from others. Null in rows that an
  // earlier release wrote: it follows from the device code alone, which is stored nowhere.
  'ALTER TABLE device_authorizations ADD COLUMN session_id TEXT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
