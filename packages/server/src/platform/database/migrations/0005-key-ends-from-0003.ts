import { type Kysely, sql } from 'kysely';

const statements = [
  // When the owner was told that a key is about to expire; null until then.
  'ALTER TABLE sessions ADD COLUMN end_announced_at BIGINT',
  // Only keys that are still to be announced: those made for longer than 14 days.
  `CREATE INDEX keys_to_announce ON sessions (expires_at)
    WHERE kind = 'key' AND end_announced_at IS NULL AND expires_at - created_at > 1209600000`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
