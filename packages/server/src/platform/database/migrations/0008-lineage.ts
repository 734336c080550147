import { type Kysely, sql } from 'kysely';

const statements = [
  // What a login came of, beside `parent_session_id`: the session that added the passkey it used, recorded because
  // the passkey may be removed, and the change that set the address its mail went to. Null in rows that an earlier
  // release wrote: there `passkey_id` leads to the session, as long as the passkey exists.
  'ALTER TABLE sessions ADD COLUMN passkey_added_by TEXT',
  'ALTER TABLE sessions ADD COLUMN email_change_id TEXT',

  // `disowned` or `stolen`: a login that was not the owner's, so its network and browser are not familiar.
  'ALTER TABLE sessions ADD COLUMN distrusted_as TEXT',

  // What disowning undid, as JSON, so that repeating the link tells the same; and when the browser login that
  // approved the device was disowned with the same link.
  'ALTER TABLE notices ADD COLUMN outcome TEXT',
  'ALTER TABLE notices ADD COLUMN approver_disowned_at BIGINT',

  // When a session is of no more use for tokens, and for a browser login that came of another also for undoing what
  // that one led to: everything it came of began before it, and so has ended by `expires_at`.
  'DROP INDEX sessions_by_idle_expiry',
  `CREATE INDEX sessions_by_last_use ON sessions ((
    CASE WHEN kind = 'browser' AND (parent_session_id IS NOT NULL OR passkey_added_by IS NOT NULL)
      THEN expires_at ELSE idle_expires_at END
  ))`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
