import { type Kysely, sql } from 'kysely';

const statements = [
  // A run is a session within another session or key. `path` is a JSON array of its own id and the ids of everything it is
  // within, nearest first: null for logins and keys. The second entry is also in `within_session_id`, the last one in
  // `root_session_id`, because both are counted.
  'ALTER TABLE sessions ADD COLUMN path TEXT',
  'ALTER TABLE sessions ADD COLUMN within_session_id TEXT',
  'ALTER TABLE sessions ADD COLUMN root_session_id TEXT',

  // The service that acts for the user, and everything that did before it: service ids, the last one first, separated by
  // spaces.
  'ALTER TABLE sessions ADD COLUMN service_id TEXT',
  'ALTER TABLE sessions ADD COLUMN actor TEXT',

  // The lifetime of each access token of a run that a service refreshes. Null for all other sessions.
  'ALTER TABLE sessions ADD COLUMN token_ttl_seconds BIGINT',

  // Logins and keys are in none of these indexes. Revoking a run also sets its idle expiry, so counting the active ones
  // reads no others.
  'CREATE INDEX runs_by_parent ON sessions (within_session_id, idle_expires_at) WHERE within_session_id IS NOT NULL',
  'CREATE INDEX runs_by_root ON sessions (root_session_id, idle_expires_at) WHERE root_session_id IS NOT NULL',
  'CREATE INDEX runs_by_service ON sessions (service_id, idle_expires_at) WHERE service_id IS NOT NULL',
  "CREATE INDEX runs_by_end ON sessions (idle_expires_at) WHERE kind = 'run'",

  // Access tokens of services that act for no user. `resource_service_id` declared the resource when the token was issued.
  `CREATE TABLE service_tokens (
    id TEXT PRIMARY KEY,
    service_id TEXT NOT NULL REFERENCES service_keys (id),
    resource TEXT NOT NULL,
    resource_service_id TEXT NOT NULL REFERENCES service_keys (id),
    scope TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
  )`,
  'CREATE INDEX service_tokens_by_expiry ON service_tokens (expires_at)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
