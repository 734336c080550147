import { type Kysely, sql } from 'kysely';

const tables = [
  // What a sibling service shows to have tokens introspected. Of the secret only a hash is here. A revoked key
  // stays, so that the list tells what there was.
  `CREATE TABLE service_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT
  )`,

  // The keys that sign what others verify, oldest first; two nodes that make the next one at once make one.
  // `sealed_private` is encrypted under the key ring. From `signs_from` on the key takes over from the one before.
  `CREATE TABLE signing_keys (
    sequence INTEGER PRIMARY KEY,
    kid TEXT NOT NULL UNIQUE,
    public_jwk TEXT NOT NULL,
    sealed_private TEXT NOT NULL,
    signs_from BIGINT NOT NULL
  )`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of tables) await sql.raw(table).execute(db);
}
