import { type Kysely, sql } from 'kysely';

const statements = [
  // What the session's tokens allow: scope names separated by spaces; null is everything the user may do. `resource` is
  // the URI of the only service that accepts them. `authorization_details` is a JSON array (RFC 9396).
  'ALTER TABLE sessions ADD COLUMN scope TEXT',
  'ALTER TABLE sessions ADD COLUMN resource TEXT',
  'ALTER TABLE sessions ADD COLUMN authorization_details TEXT',

  // When another service takes over a name, every session with that name ends. Few sessions are narrow.
  'CREATE INDEX sessions_by_scope ON sessions (scope) WHERE scope IS NOT NULL',
  'CREATE INDEX sessions_by_resource ON sessions (resource) WHERE resource IS NOT NULL',

  // The scope and resource that a device asks for. Null is a login that may do everything and did not ask for a scope.
  // Earlier releases stored the requested scope without giving it a meaning: their devices get what they would have got.
  'ALTER TABLE device_authorizations ADD COLUMN resource TEXT',
  'UPDATE device_authorizations SET scope = NULL',

  // The URI that tokens for this service are bound to, what the service may do, and the resources it may ask tokens
  // for; lists are separated by spaces. The second secret works beside the first while a service changes over to it.
  'ALTER TABLE service_keys ADD COLUMN resource TEXT',
  "ALTER TABLE service_keys ADD COLUMN rights TEXT NOT NULL DEFAULT ''",
  "ALTER TABLE service_keys ADD COLUMN reach TEXT NOT NULL DEFAULT ''",
  'ALTER TABLE service_keys ADD COLUMN next_secret_hash TEXT',

  // The service that last declared a scope or resource. `sentence` tells people what a scope allows. A row stays when the
  // service withdraws the name or is revoked, so that another service does not inherit tokens with that name.
  `CREATE TABLE declarations (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    service_id TEXT NOT NULL REFERENCES service_keys (id),
    sentence TEXT,
    withdrawn_at BIGINT,
    PRIMARY KEY (kind, name)
  )`,
  'CREATE INDEX declarations_by_service ON declarations (service_id)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
