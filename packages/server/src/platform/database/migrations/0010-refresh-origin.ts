import { type Kysely, sql } from 'kysely';

const statements = [
  // The origin of the last refresh of a session: its network (/24 or /64) and the hash of its user agent without
  // digits. Null until the first refresh, and in rows of an earlier release.
  'ALTER TABLE sessions ADD COLUMN rotated_network TEXT',
  'ALTER TABLE sessions ADD COLUMN rotated_program TEXT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
