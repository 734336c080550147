import { type Kysely, sql } from 'kysely';

const statements = [
  // Where a login came from, so that what a disowned login led to can be found: the session that approved this
  // device or that this one replaced in its browser, the passkey it used, and which session added a passkey or
  // approved a device login. No foreign keys: the older of the two may be swept first.
  'ALTER TABLE sessions ADD COLUMN parent_session_id TEXT',
  'ALTER TABLE sessions ADD COLUMN passkey_id TEXT',
  'ALTER TABLE passkeys ADD COLUMN session_id TEXT',
  'ALTER TABLE device_authorizations ADD COLUMN approved_by TEXT',

  // A change of address: waiting for the click in the mail to `new_email` (`changed_at` null), done, voided by a
  // later request or by disowning its session, or undone by the old address. `session_epoch` is the account's at
  // the request. `expires_at` is the end of the link, and once changed the end of the undo; until then nobody
  // else can have `old_email`.
  `CREATE TABLE email_changes (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL,
    session_epoch INTEGER NOT NULL,
    new_email TEXT NOT NULL,
    new_email_key TEXT NOT NULL,
    old_email TEXT,
    old_email_key TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    changed_at BIGINT,
    voided_at BIGINT,
    undone_at BIGINT
  )`,
  'CREATE INDEX email_changes_by_user ON email_changes (user_id, created_at)',
  'CREATE INDEX email_changes_by_old_address ON email_changes (old_email_key)',
  'CREATE INDEX email_changes_by_expiry ON email_changes (expires_at)',

  // A notice to the owner of an account, with what its mail says. The token of its link is computed from the id
  // and the server key. `session_id` is the login that did it; `restored_email` what disowning put back.
  `CREATE TABLE notices (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    session_id TEXT,
    email_change_id TEXT,
    client_name TEXT,
    device_name TEXT,
    passkey_name TEXT,
    new_email TEXT,
    ip_address TEXT,
    user_agent TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    disowned_at BIGINT,
    restored_email TEXT
  )`,
  'CREATE INDEX notices_by_user ON notices (user_id, created_at)',
  'CREATE INDEX notices_by_expiry ON notices (expires_at)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
