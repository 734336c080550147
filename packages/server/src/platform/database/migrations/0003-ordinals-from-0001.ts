import { type Kysely, PostgresAdapter, sql } from 'kysely';

// The order in which what an account has began: sessions (keys and runs too), passkeys, notices, and changes of address, which begin
// when they are confirmed. Numbers are drawn under the lock of the account, so within an account they are the order of commits, whatever
// the clocks of the nodes say. The database assigns them, so earlier programs that write beside this one do, too.
//
// `notices.email` is the address as it was typed, `notices.since` the ordinal of the session that a notice is about, `notices.language` the
// language of the account at that moment. `users.former_languages` is a JSON object: the languages that the account had, each with the
// time of its last change to another one.
//
// No longer written, and removed in a later release: `passkey_added_by` and `email_change_id` of sessions, `session_id` and `email_change_id` of
// passkeys, `email_change_id`, `restored_email` and `approver_disowned_at` of notices.
const columns = [
  'ALTER TABLE sessions ADD COLUMN ordinal BIGINT',
  'ALTER TABLE passkeys ADD COLUMN ordinal BIGINT',
  'ALTER TABLE email_changes ADD COLUMN ordinal BIGINT',
  'ALTER TABLE notices ADD COLUMN ordinal BIGINT',
  'ALTER TABLE notices ADD COLUMN since BIGINT',
  'ALTER TABLE notices ADD COLUMN email TEXT',
  'ALTER TABLE notices ADD COLUMN language TEXT',
  'ALTER TABLE users ADD COLUMN former_languages TEXT',
];

// What is stored already is ordered by time, and everything new comes after it.
const storedRows = [
  'UPDATE sessions SET ordinal = created_at',
  'UPDATE passkeys SET ordinal = created_at',
  'UPDATE email_changes SET ordinal = changed_at',
  'UPDATE notices SET ordinal = created_at',
  `UPDATE notices SET email = (
    SELECT recipient FROM outbox WHERE outbox.id = notices.digest_id
      OR outbox.user_id = notices.user_id AND outbox.template = 'notice' AND outbox.reference = notices.id LIMIT 1
  )`,
];

const indexes = [
  // A browser session is kept until its absolute lifetime ends: what it approved may live as long, and the browser stays known.
  'DROP INDEX sessions_by_last_use',
  `CREATE INDEX sessions_by_need ON sessions ((CASE WHEN kind = 'browser' THEN expires_at ELSE idle_expires_at END))`,
];

const tables = ['sessions', 'passkeys', 'notices'];

const lastStored = `SELECT max(ordinal) AS last FROM (${[...tables, 'email_changes']
  .map((table) => `SELECT max(ordinal) AS ordinal FROM ${table}`)
  .join(' UNION ALL ')}) AS stored`;

const onPostgres = [
  'CREATE SEQUENCE ordinal_sequence',
  `SELECT setval('ordinal_sequence', last) FROM (${lastStored}) AS all_stored WHERE last IS NOT NULL`,
  ...tables.map(
    (table) => `ALTER TABLE ${table} ALTER COLUMN ordinal SET DEFAULT nextval('ordinal_sequence')`,
  ),
  `CREATE FUNCTION draw_ordinal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.ordinal := nextval('ordinal_sequence');
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER email_change_ordinal BEFORE UPDATE OF changed_at ON email_changes FOR EACH ROW
    WHEN (OLD.changed_at IS NULL AND NEW.changed_at IS NOT NULL) EXECUTE FUNCTION draw_ordinal()`,
];

// SQLite has no sequences: the last number is beside those of its numbered tables.
const draw = (table: string) => `BEGIN
  UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'ordinals';
  UPDATE ${table} SET ordinal = (SELECT seq FROM sqlite_sequence WHERE name = 'ordinals') WHERE rowid = NEW.rowid;
END`;

const onSqlite = [
  `INSERT INTO sqlite_sequence (name, seq) SELECT 'ordinals', coalesce(last, 0) FROM (${lastStored})`,
  ...tables.map(
    (table) =>
      `CREATE TRIGGER ${table}_ordinal AFTER INSERT ON ${table} WHEN NEW.ordinal IS NULL ${draw(table)}`,
  ),
  `CREATE TRIGGER email_change_ordinal AFTER UPDATE OF changed_at ON email_changes
    WHEN OLD.changed_at IS NULL AND NEW.changed_at IS NOT NULL ${draw('email_changes')}`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const statements = [...columns, ...storedRows, ...indexes, ...(isPostgres ? onPostgres : onSqlite)];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
