import { type Kysely, sql } from 'kysely';

const statements = [
  // The trace of the request that queued an email, in hexadecimal; null if it was not traced.
  'ALTER TABLE outbox ADD COLUMN trace_id TEXT',
  'ALTER TABLE outbox ADD COLUMN span_id TEXT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
