import { type Kysely, sql } from 'kysely';

const statements = [
  // A service with redirect URIs is an OAuth client, which people sign in to. Lists are separated by spaces. A public client
  // proves nothing about itself; one that was registered so has the empty text for its secret. A trusted one needs no approval.
  "ALTER TABLE service_keys ADD COLUMN redirect_uris TEXT NOT NULL DEFAULT ''",
  "ALTER TABLE service_keys ADD COLUMN sign_out_redirect_uris TEXT NOT NULL DEFAULT ''",
  'ALTER TABLE service_keys ADD COLUMN public_client INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE service_keys ADD COLUMN trusted INTEGER NOT NULL DEFAULT 0',

  // The client that a session of kind `app` belongs to, and how and when its user signed in to the browser that approved it.
  'ALTER TABLE sessions ADD COLUMN client_id TEXT',
  'ALTER TABLE sessions ADD COLUMN authenticated_at BIGINT',
  'ALTER TABLE sessions ADD COLUMN authenticated_by TEXT',
  'CREATE INDEX sessions_by_client ON sessions (client_id) WHERE client_id IS NOT NULL',

  // An authorization code, which the session `approved_by` of its user approved. `session_id` is the session that redeeming it
  // starts. The request must repeat a redirect URI that the authorization request named. A spent code is kept
  // until it is too late to notice a second use; `request_hash` recognizes a repeated request.
  `CREATE TABLE authorization_codes (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    session_epoch INTEGER NOT NULL,
    approved_by TEXT NOT NULL,
    session_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    client_name TEXT,
    device_name TEXT,
    redirect_uri TEXT NOT NULL,
    redirect_uri_named INTEGER NOT NULL,
    code_challenge TEXT NOT NULL,
    scope TEXT NOT NULL,
    resource TEXT,
    nonce TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    spent_at BIGINT,
    redeemed INTEGER NOT NULL,
    request_hash TEXT
  )`,
  'CREATE INDEX authorization_codes_by_user ON authorization_codes (user_id)',
  'CREATE INDEX authorization_codes_by_expiry ON authorization_codes (expires_at)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
