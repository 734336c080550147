import { type Kysely, sql } from 'kysely';

const statements = [
  // More about the origin of a session: the session that added the passkey it used, recorded because the passkey may
  // be removed, and the email change that set the address of its mail. Null in rows of an earlier release: there
  // `passkey_id` leads to the session as long as the passkey exists.
  'ALTER TABLE sessions ADD COLUMN passkey_added_by TEXT',
  'ALTER TABLE sessions ADD COLUMN email_change_id TEXT',

  // `disowned` or `stolen`: not a session of the owner, so its network and browser are not familiar.
  'ALTER TABLE sessions ADD COLUMN distrusted_as TEXT',

  // The result of disowning as JSON, so that repeating the link shows the same, and when the browser session that
  // approved the device was disowned with the same link.
  'ALTER TABLE notices ADD COLUMN outcome TEXT',
  'ALTER TABLE notices ADD COLUMN approver_disowned_at BIGINT',

  // When a session is no longer needed for tokens. A browser session that another one led to is also kept for undoing
  // what it led to itself: all of that began before it ended, and has ended by `expires_at`.
  'DROP INDEX sessions_by_idle_expiry',
  `CREATE INDEX sessions_by_last_use ON sessions ((
    CASE WHEN kind = 'browser' AND (parent_session_id IS NOT NULL OR passkey_added_by IS NOT NULL)
      THEN expires_at ELSE idle_expires_at END
  ))`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
