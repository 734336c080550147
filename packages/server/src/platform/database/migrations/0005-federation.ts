import { type Kysely, sql } from 'kysely';

const statements = [
  // The issuer and claims that stand for a key without a secret, as JSON. Null for all other sessions.
  'ALTER TABLE sessions ADD COLUMN trust TEXT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
