import { type Kysely, PostgresAdapter, sql } from 'kysely';

/**
 * The order in which all events of the security log can be read. Triggers write it, so that nodes of an earlier release do,
 * too, while an upgrade replaces them one after the other. An event whose detail changes gets a new position.
 */
const sqlite = [
  `CREATE TABLE event_positions (
    position INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE REFERENCES events (id) ON DELETE CASCADE
  )`,
  'INSERT INTO event_positions (event_id) SELECT id FROM events ORDER BY created_at, user_id, seq',
  `CREATE TRIGGER event_added AFTER INSERT ON events BEGIN
    INSERT INTO event_positions (event_id) VALUES (NEW.id);
  END`,
  `CREATE TRIGGER event_amended AFTER UPDATE OF detail ON events WHEN OLD.detail IS NOT NEW.detail BEGIN
    DELETE FROM event_positions WHERE event_id = NEW.id;
    INSERT INTO event_positions (event_id) VALUES (NEW.id);
  END`,
];

/**
 * A writer marks the position drawn last before it draws its own, as the feed does. One mark is enough for all events of a
 * transaction, whose own setting ends with it, too. The first position is drawn here so that `last_value` always names one that was drawn.
 */
const postgres = [
  'CREATE SEQUENCE event_sequence',
  "SELECT nextval('event_sequence')",
  `CREATE TABLE event_positions (
    position BIGINT NOT NULL PRIMARY KEY,
    event_id TEXT NOT NULL UNIQUE REFERENCES events (id) ON DELETE CASCADE
  )`,
  `INSERT INTO event_positions (position, event_id)
    SELECT nextval('event_sequence'), id FROM (SELECT id FROM events ORDER BY created_at, user_id, seq) AS ordered`,
  `CREATE FUNCTION position_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF coalesce(current_setting('latchkey.writes_events', true), '') = '' THEN
      PERFORM mark_writer(1, last_value) FROM event_sequence;
      PERFORM set_config('latchkey.writes_events', 'yes', true);
    END IF;
    INSERT INTO event_positions (position, event_id) VALUES (nextval('event_sequence'), NEW.id)
      ON CONFLICT (event_id) DO UPDATE SET position = EXCLUDED.position;
    RETURN NULL;
  END $$`,
  'CREATE TRIGGER event_added AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION position_event()',
  `CREATE TRIGGER event_amended AFTER UPDATE OF detail ON events FOR EACH ROW
    WHEN (OLD.detail IS DISTINCT FROM NEW.detail) EXECUTE FUNCTION position_event()`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  for (const statement of isPostgres ? postgres : sqlite) await sql.raw(statement).execute(db);
}
