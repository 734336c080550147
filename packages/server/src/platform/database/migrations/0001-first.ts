import { type Kysely, PostgresAdapter, sql } from 'kysely';

const tables = [
  // An account. `email_key` is the address with ASCII letters in lower case. `revision` counts changes of the
  // profile. Incrementing `session_epoch` ends every session and approved device code of the user in one write.
  `CREATE TABLE users (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    email_verified INTEGER NOT NULL,
    name TEXT NOT NULL,
    avatar_url TEXT,
    locale TEXT,
    time_zone TEXT,
    webauthn_user_handle TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    session_epoch INTEGER NOT NULL,
    disabled_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
  )`,

  // A session. Its id is a hash of the secret in its tokens. `generation` identifies the one unspent refresh token;
  // `rotated_at` and `idempotency_hash` describe the refresh that issued it.
  `CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    session_epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    method TEXT NOT NULL,
    generation BIGINT NOT NULL,
    rotated_at BIGINT NOT NULL,
    idempotency_hash TEXT,
    client_name TEXT,
    device_name TEXT,
    ip_address TEXT,
    user_agent TEXT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    idle_expires_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
  )`,
  'CREATE INDEX sessions_by_user ON sessions (user_id, created_at)',
  'CREATE INDEX sessions_by_idle_expiry ON sessions (idle_expires_at)',

  // A device login in progress. Its id is a hash of the device code, `user_code_hash` a MAC of the user code; neither
  // code is stored.
  `CREATE TABLE device_authorizations (
    id TEXT PRIMARY KEY,
    user_code_hash TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    client_id TEXT,
    client_name TEXT,
    device_name TEXT,
    scope TEXT,
    ip_address TEXT,
    user_agent TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    interval_seconds INTEGER NOT NULL,
    last_poll_at BIGINT NOT NULL,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    session_epoch INTEGER,
    redeemed_at BIGINT,
    idempotency_hash TEXT
  )`,
  'CREATE INDEX device_authorizations_by_expiry ON device_authorizations (expires_at)',
  'CREATE INDEX device_authorizations_by_user ON device_authorizations (user_id)',

  // A sign-in by email in progress. Link, code and request handle are computed from the id and the server key.
  `CREATE TABLE magic_links (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    code_tries INTEGER NOT NULL,
    spent_at BIGINT
  )`,
  'CREATE INDEX magic_links_by_address ON magic_links (email_key)',
  'CREATE INDEX magic_links_by_expiry ON magic_links (expires_at)',

  `CREATE TABLE organizations (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    personal INTEGER NOT NULL,
    created_at BIGINT NOT NULL
  )`,
  `CREATE TABLE memberships (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, organization_id)
  )`,
  'CREATE INDEX memberships_by_organization ON memberships (organization_id)',

  // Mails to send, written in the transaction that causes them. `reference` identifies the row that the template
  // reads when the mail is sent; no text is stored. `next_attempt_at` doubles as the lease: a worker that claims a
  // mail moves it into the future.
  `CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    template TEXT NOT NULL,
    recipient TEXT NOT NULL,
    reference TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    sent_at BIGINT,
    dead_at BIGINT,
    last_error TEXT
  )`,
  'CREATE INDEX outbox_waiting ON outbox (next_attempt_at) WHERE sent_at IS NULL AND dead_at IS NULL',
  'CREATE INDEX outbox_by_creation ON outbox (created_at)',

  // The security log. `detail` is a JSON object.
  `CREATE TABLE events (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    session_id TEXT,
    ip_address TEXT,
    user_agent TEXT,
    detail TEXT,
    created_at BIGINT NOT NULL
  )`,
  'CREATE INDEX events_by_user ON events (user_id, created_at)',

  // What an address, which needs no account, locks on PostgreSQL: the row of its bucket. Empty on SQLite.
  'CREATE TABLE address_locks (bucket INTEGER PRIMARY KEY)',
];

/** Locks of PostgreSQL that no other role can make us wait for. Advisory locks could be held by any role that may connect. */
const locks = [
  'INSERT INTO address_locks SELECT generate_series(0, 4095)',
  `CREATE FUNCTION address_bucket(email_key TEXT) RETURNS INTEGER LANGUAGE sql IMMUTABLE
    RETURN hashtext(email_key) & 4095`,
  `CREATE FUNCTION lock_address(email_key TEXT) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM FROM address_locks WHERE bucket = address_bucket(email_key) FOR UPDATE;
  END $$`,
  // The number that a sequence drew last, as an advisory lock for readers to see (writer-locks.ts): 1 bit for the sequence, 22 random
  // bits, 40 bits for the number. It never waits: a key that another role holds is replaced by another one.
  `CREATE FUNCTION mark_writer(sequence BIGINT, drawn BIGINT) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    FOR attempt IN 1..100 LOOP
      IF pg_try_advisory_xact_lock_shared(
        (sequence << 62) | (CAST(floor(random() * 4194304) AS bigint) << 40) | drawn
      ) THEN RETURN; END IF;
    END LOOP;
    RAISE EXCEPTION 'too many advisory locks of other roles' USING ERRCODE = 'lock_not_available';
  END $$`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  for (const statement of isPostgres ? [...tables, ...locks] : tables) await sql.raw(statement).execute(db);
}
