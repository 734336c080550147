import { type Kysely, PostgresAdapter, sql } from 'kysely';

/**
 * The order of events. It grows with each event and is never used again, even after the newest rows were swept. On PostgreSQL the
 * numbers come from a sequence, whose first number is drawn here so that `last_value` always names a number that was drawn.
 */
const position = {
  sqlite: ['INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT'],
  postgres: [
    'BIGINT NOT NULL PRIMARY KEY',
    'CREATE SEQUENCE feed_sequence',
    "SELECT nextval('feed_sequence')",
  ],
};

const statements = (seq: string) => [
  // What services read about accounts: which sessions ended, and what changed. `session_id` is the session or key, null if
  // the event is about the whole account; `detail` is a JSON object that depends on the type. No foreign key: services
  // must learn of a deleted account, too.
  `CREATE TABLE feed_events (
    seq ${seq},
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT,
    detail TEXT NOT NULL,
    written_at BIGINT NOT NULL
  )`,
  'CREATE INDEX feed_events_by_time ON feed_events (written_at)',
  'CREATE INDEX feed_events_by_user ON feed_events (user_id)',

  // How far a service has read the feed, or one of its readers, which have a name. Everything up to `position` is
  // acknowledged; `settled_at` is when everything before was.
  `CREATE TABLE feed_readers (
    id TEXT PRIMARY KEY,
    service_id TEXT NOT NULL REFERENCES service_keys (id),
    name TEXT,
    position BIGINT NOT NULL,
    settled_at BIGINT NOT NULL,
    last_request_at BIGINT NOT NULL
  )`,
  'CREATE INDEX feed_readers_by_service ON feed_readers (service_id)',
  'CREATE INDEX feed_readers_by_time ON feed_readers (last_request_at)',

  // Events after its position that a reader has acknowledged.
  `CREATE TABLE feed_acknowledgements (
    reader_id TEXT NOT NULL REFERENCES feed_readers (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    PRIMARY KEY (reader_id, seq)
  )`,

  // When the service last got the right to read the feed, and the position in it at that moment.
  'ALTER TABLE service_keys ADD COLUMN feed_since BIGINT',
  'ALTER TABLE service_keys ADD COLUMN feed_from BIGINT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const [seq, ...first] = position[isPostgres ? 'postgres' : 'sqlite'] as [string, ...string[]];
  for (const statement of [...first, ...statements(seq)]) await sql.raw(statement).execute(db);
}
