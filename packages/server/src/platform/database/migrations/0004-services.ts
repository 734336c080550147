import { type Kysely, sql } from 'kysely';

const tables = [
  // Credentials of services for introspection. Only a hash of the secret is stored. Revoked keys remain for the list.
  `CREATE TABLE service_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT
  )`,

  // The keys that sign introspection responses, oldest first. Two nodes that create the next key at the same time
  // create one. `sealed_private` is encrypted under the key ring. From `signs_from` on, the key replaces the previous
  // one.
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
