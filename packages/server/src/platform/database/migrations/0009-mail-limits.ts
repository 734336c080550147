import { type Kysely, sql } from 'kysely';

const statements = [
  // 0: somebody waits for this mail, to sign in or to confirm an address. 1: any other mail. `refusals` counts
  // permanent refusals (5xx) by the mail server.
  'ALTER TABLE outbox ADD COLUMN priority INTEGER NOT NULL DEFAULT 1',
  'ALTER TABLE outbox ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0',
  `UPDATE outbox SET priority = 0
   WHERE template IN ('sign_in', 'email_change') AND sent_at IS NULL AND dead_at IS NULL`,
  'DROP INDEX outbox_waiting',
  'CREATE INDEX outbox_waiting ON outbox (priority, next_attempt_at) WHERE sent_at IS NULL AND dead_at IS NULL',

  // The number of notices of a kind that an account got in the current window. Notices beyond the limit refer to the
  // digest mail that will list them, by its id in the outbox.
  `CREATE TABLE notice_windows (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    notices INTEGER NOT NULL,
    ends_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, kind)
  )`,
  'CREATE INDEX notice_windows_by_id ON notice_windows (id)',
  'CREATE INDEX notice_windows_by_end ON notice_windows (ends_at)',
  'ALTER TABLE notices ADD COLUMN digest_id TEXT',
  'CREATE INDEX notices_by_digest ON notices (digest_id, created_at) WHERE digest_id IS NOT NULL',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
