import { type Kysely, sql } from 'kysely';

const statements = [
  // `seq` numbers the events of an account from 1. `mac` is a key id, a dot and a MAC over the event and the `mac` of
  // the previous event. At most one event of an account has the same `once`. Events written before this migration get
  // a number and an empty `mac`.
  'ALTER TABLE events ADD COLUMN seq BIGINT NOT NULL DEFAULT 0',
  'ALTER TABLE events ADD COLUMN once TEXT',
  "ALTER TABLE events ADD COLUMN mac TEXT NOT NULL DEFAULT ''",
  `UPDATE events SET seq = numbered.seq FROM (
    SELECT id, row_number() OVER (PARTITION BY user_id ORDER BY created_at, id) AS seq FROM events
  ) AS numbered WHERE numbered.id = events.id`,
  'DROP INDEX events_by_user',
  'CREATE UNIQUE INDEX events_by_user ON events (user_id, seq)',
  'CREATE UNIQUE INDEX events_once ON events (user_id, once) WHERE once IS NOT NULL',

  // Both ends of each account's chain of events, sealed. It keeps the events after `base_seq` up to `head_seq`; the
  // first `unsealed` ones are older than this migration. `oldest_at` only says when to look for expired events.
  `CREATE TABLE event_chains (
    user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    unsealed BIGINT NOT NULL,
    base_seq BIGINT NOT NULL,
    base_mac TEXT NOT NULL,
    head_seq BIGINT NOT NULL,
    head_mac TEXT NOT NULL,
    head_at BIGINT NOT NULL,
    oldest_at BIGINT,
    seal TEXT NOT NULL
  )`,
  'CREATE INDEX event_chains_by_age ON event_chains (oldest_at)',
  `INSERT INTO event_chains
    SELECT users.id, coalesce(max(events.seq), 0), 0, '', coalesce(max(events.seq), 0), '',
      coalesce(max(events.created_at), 0), min(events.created_at), ''
    FROM users LEFT JOIN events ON events.user_id = users.id GROUP BY users.id`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
