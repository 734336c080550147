import { type Kysely, sql } from 'kysely';

const tables = [
  // A passkey of a user. `credential_id` and `public_key` (a COSE key) are base64url, `transports` is a JSON array.
  // `counter` is the last one that the authenticator reported; many always report 0.
  `CREATE TABLE passkeys (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    credential_id TEXT NOT NULL UNIQUE,
    public_key TEXT NOT NULL,
    counter BIGINT NOT NULL,
    name TEXT NOT NULL,
    aaguid TEXT NOT NULL,
    device_type TEXT NOT NULL,
    backed_up INTEGER NOT NULL,
    transports TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT
  )`,
  'CREATE INDEX passkeys_by_user ON passkeys (user_id, created_at)',

  // Used WebAuthn challenges. An unused challenge has no row.
  `CREATE TABLE spent_challenges (
    id TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
  )`,
  'CREATE INDEX spent_challenges_by_expiry ON spent_challenges (expires_at)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of tables) await sql.raw(table).execute(db);
}
