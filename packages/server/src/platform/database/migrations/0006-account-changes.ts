import { type Kysely, sql } from 'kysely';

const statements = [
  // The origin of a session, to find everything that a disowned session led to: the session that approved this device
  // or was replaced by this one in its browser, the passkey it used, and the session that added a passkey or approved
  // a device login. No foreign keys, because the older row may be deleted first.
  'ALTER TABLE sessions ADD COLUMN parent_session_id TEXT',
  'ALTER TABLE sessions ADD COLUMN passkey_id TEXT',
  'ALTER TABLE passkeys ADD COLUMN session_id TEXT',
  'ALTER TABLE device_authorizations ADD COLUMN approved_by TEXT',

  // An email change: pending until the link in the mail to `new_email` is confirmed (`changed_at` null), done, voided
  // by a later request or by disowning its session, or undone from the old address. `session_epoch` is the account's
  // at the time of the request. `expires_at` is when the link expires and, after the change, when the undo expires;
  // until then no other account can use `old_email`.
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

  // A security notice with the content of its mail. The token of its link is computed from the id and the server key.
  // `session_id` is the session that caused it, `restored_email` the address that disowning restored.
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
