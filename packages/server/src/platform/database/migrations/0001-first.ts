import { type Kysely, PostgresAdapter, sql } from 'kysely';

const accounts = [
  // An account. `email_key` is the address with ASCII letters in lower case and its domain in ASCII. `revision` counts
  // changes of the profile. Incrementing `session_epoch` ends every session and approved device code of the user.
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

  // An email change: pending until the link in the mail to `new_email` is confirmed (`changed_at` null), done, voided
  // by a later request or by disowning its session, or undone from the old address. `session_epoch` is the account's
  // at the time of the request. `expires_at` is when the link expires and, after the change, when the undo expires;
  // until then no other account can use `old_email`. The link ends after too many `wrong_addresses`.
  `CREATE TABLE email_changes (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL,
    session_epoch INTEGER NOT NULL,
    new_email TEXT NOT NULL,
    new_email_key TEXT NOT NULL,
    old_email TEXT,
    old_email_key TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    changed_at BIGINT,
    voided_at BIGINT,
    undone_at BIGINT,
    wrong_addresses INTEGER NOT NULL DEFAULT 0
  )`,
  'CREATE INDEX email_changes_by_user ON email_changes (user_id, created_at)',
  'CREATE INDEX email_changes_by_old_address ON email_changes (old_email_key)',
  'CREATE INDEX email_changes_by_expiry ON email_changes (expires_at)',
];

const sessions = [
  // A session. Its id is a hash of the secret in its tokens. `generation` identifies the one unspent refresh token;
  // `rotated_at`, `idempotency_hash`, `rotated_network` (/24 or /64) and `rotated_program` (a hash of the user agent
  // without digits) describe the refresh that issued it.
  //
  // What it came from, to find everything that a disowned session led to, without foreign keys, because the older row may
  // be deleted first: the session that approved this device or was replaced by this one in its browser
  // (`parent_session_id`), the passkey it used and the session that added that, the email change that set the address of
  // its mail. `distrusted_as`: not a session of the owner, so its network and browser are not familiar.
  //
  // What its tokens allow: scope names separated by spaces, null for everything the user may do; the URI of the only
  // service that accepts them; a JSON array (RFC 9396).
  //
  // A run is a session within another session or key. `path` is a JSON array of its own id and the ids of everything it
  // is within, nearest first: null for other sessions and keys. The second entry is also in `within_session_id`, the last
  // one in `root_session_id`, because both are counted. `service_id` acts for the user; `actor` lists it and all that did
  // before it, the last one first, separated by spaces. `token_ttl_seconds` is for runs that a service refreshes.
  //
  // `client_id` is the client that a session of kind `app` belongs to; `authenticated_at` and `authenticated_by` say when and how
  // its user signed in to the browser that approved it. `trust` is the issuer and claims (JSON) that stand for a key without a secret.
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
    revoked_at BIGINT,
    parent_session_id TEXT,
    passkey_id TEXT,
    passkey_added_by TEXT,
    email_change_id TEXT,
    distrusted_as TEXT,
    rotated_network TEXT,
    rotated_program TEXT,
    scope TEXT,
    resource TEXT,
    authorization_details TEXT,
    path TEXT,
    within_session_id TEXT,
    root_session_id TEXT,
    service_id TEXT,
    actor TEXT,
    token_ttl_seconds BIGINT,
    client_id TEXT,
    authenticated_at BIGINT,
    authenticated_by TEXT,
    trust TEXT
  )`,
  'CREATE INDEX sessions_by_user ON sessions (user_id, created_at)',

  // Lets a sign-in find an account's newest browsers without reading the sessions of its devices, which can be many more.
  "CREATE INDEX browser_sessions_by_user ON sessions (user_id, created_at) WHERE kind = 'browser'",

  // When a session is no longer needed for tokens. A browser session that another one led to is also kept for undoing
  // what it led to itself: all of that began before it ended, and has ended by `expires_at`.
  `CREATE INDEX sessions_by_last_use ON sessions ((
    CASE WHEN kind = 'browser' AND (parent_session_id IS NOT NULL OR passkey_added_by IS NOT NULL)
      THEN expires_at ELSE idle_expires_at END
  ))`,

  // When another service takes over a name, every session with that name ends. Few sessions are narrow.
  'CREATE INDEX sessions_by_scope ON sessions (scope) WHERE scope IS NOT NULL',
  'CREATE INDEX sessions_by_resource ON sessions (resource) WHERE resource IS NOT NULL',

  'CREATE INDEX sessions_by_client ON sessions (client_id) WHERE client_id IS NOT NULL',

  // Only runs are in these indexes. Revoking a run also sets its idle expiry, so counting the active ones reads no others.
  'CREATE INDEX runs_by_parent ON sessions (within_session_id, idle_expires_at) WHERE within_session_id IS NOT NULL',
  'CREATE INDEX runs_by_root ON sessions (root_session_id, idle_expires_at) WHERE root_session_id IS NOT NULL',
  'CREATE INDEX runs_by_service ON sessions (service_id, idle_expires_at) WHERE service_id IS NOT NULL',
  "CREATE INDEX runs_by_end ON sessions (idle_expires_at) WHERE kind = 'run'",
];

const signIns = [
  // A device sign-in in progress. Its id is a hash of the device code, `user_code_hash` a MAC of the user code; neither
  // code is stored. `session_id` is the session that an approval will start, so that the approver can recognize it, and
  // `approved_by` that of the approver. Without a scope the device asks for everything. `can_confirm`: the program can ask its
  // user for the code that confirms an approval from another network. Of that code a hash is stored, with how often a wrong one was
  // tried and what recognizes the last wrong try when it is repeated.
  `CREATE TABLE device_authorizations (
    id TEXT PRIMARY KEY,
    user_code_hash TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    client_id TEXT,
    client_name TEXT,
    device_name TEXT,
    scope TEXT,
    resource TEXT,
    ip_address TEXT,
    user_agent TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    interval_seconds INTEGER NOT NULL,
    last_poll_at BIGINT NOT NULL,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    session_epoch INTEGER,
    session_id TEXT NOT NULL,
    approved_by TEXT,
    redeemed_at BIGINT,
    idempotency_hash TEXT,
    can_confirm INTEGER NOT NULL DEFAULT 0,
    confirmation_hash TEXT,
    confirmation_tries INTEGER NOT NULL DEFAULT 0,
    confirmation_tried TEXT
  )`,
  'CREATE INDEX device_authorizations_by_expiry ON device_authorizations (expires_at)',
  'CREATE INDEX device_authorizations_by_user ON device_authorizations (user_id)',

  // An authorization code, which the session `approved_by` of its user approved. `session_id` is the session that redeeming it
  // starts. The request must repeat a redirect URI that the authorization request named. A spent code is kept
  // until it is too late to notice a second use; `request_hash` recognizes a repeated request.
  `CREATE TABLE authorization_codes (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    session_epoch INTEGER NOT NULL,
    approved_by TEXT NOT NULL,
    session_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    client_name TEXT,
    device_name TEXT,
    redirect_uri TEXT NOT NULL,
    redirect_uri_named INTEGER NOT NULL,
    code_challenge TEXT NOT NULL,
    scope TEXT NOT NULL,
    resource TEXT,
    nonce TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    spent_at BIGINT,
    redeemed INTEGER NOT NULL,
    request_hash TEXT
  )`,
  'CREATE INDEX authorization_codes_by_user ON authorization_codes (user_id)',
  'CREATE INDEX authorization_codes_by_expiry ON authorization_codes (expires_at)',

  // A sign-in by email in progress. Link, code and request handle are computed from the id and the server key. The mail
  // names the network and browser that requested it, and is in that browser's language (null for English).
  `CREATE TABLE magic_links (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    code_tries INTEGER NOT NULL,
    spent_at BIGINT,
    ip_address TEXT,
    user_agent TEXT,
    language TEXT
  )`,
  'CREATE INDEX magic_links_by_address ON magic_links (email_key)',
  'CREATE INDEX magic_links_by_expiry ON magic_links (expires_at)',

  // A passkey of a user. `credential_id` and `public_key` (a COSE key) are base64url, `transports` is a JSON array.
  // `counter` is the last one that the authenticator reported; many always report 0. `session_id` added it, unless it was
  // imported; `email_change_id` was the latest change of address then.
  `CREATE TABLE passkeys (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    credential_id TEXT NOT NULL UNIQUE,
    public_key TEXT NOT NULL,
    counter BIGINT NOT NULL,
    name TEXT NOT NULL,
    aaguid TEXT NOT NULL,
    device_type TEXT NOT NULL,
    backed_up INTEGER NOT NULL,
    transports TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    session_id TEXT,
    email_change_id TEXT
  )`,
  'CREATE INDEX passkeys_by_user ON passkeys (user_id, created_at)',

  // Used WebAuthn challenges. An unused challenge has no row.
  `CREATE TABLE spent_challenges (
    id TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
  )`,
  'CREATE INDEX spent_challenges_by_expiry ON spent_challenges (expires_at)',
];

const services = [
  // A service with the hash of its secret; a second one works beside it while the service changes over. Revoked keys
  // remain for the list. `resource` is the URI that tokens for this service are bound to, `rights` what the service may
  // do, `reach` the resources it may ask tokens for; lists are separated by spaces. `feed_since` is when it last got the
  // right to read the feed, `feed_from` the position in it at that moment. A service with redirect URIs is an OAuth client that
  // people sign in to. A public client proves nothing about itself; one that was registered so has the empty text for its
  // secret. A trusted one needs no approval.
  `CREATE TABLE service_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    next_secret_hash TEXT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    resource TEXT,
    rights TEXT NOT NULL DEFAULT '',
    reach TEXT NOT NULL DEFAULT '',
    feed_since BIGINT,
    feed_from BIGINT,
    redirect_uris TEXT NOT NULL DEFAULT '',
    sign_out_redirect_uris TEXT NOT NULL DEFAULT '',
    public_client INTEGER NOT NULL DEFAULT 0,
    trusted INTEGER NOT NULL DEFAULT 0
  )`,

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

  // The keys that sign introspection responses, oldest first. Two nodes that create the next key at the same time
  // create one. `sealed_private` is encrypted under the key ring. From `signs_from` on, the key replaces the previous
  // one.
  `CREATE TABLE signing_keys (
    sequence INTEGER PRIMARY KEY,
    kid TEXT NOT NULL UNIQUE,
    public_jwk TEXT NOT NULL,
    sealed_private TEXT NOT NULL,
    signs_from BIGINT NOT NULL
  )`,
];

const mailsAndLimits = [
  // Mails to send, written in the transaction that causes them. `reference` identifies the row that the template
  // reads when the mail is sent; no text is stored. `next_attempt_at` doubles as the lease: a worker that claims a
  // mail moves it into the future. `priority` 0: somebody waits for this mail, to sign in or to confirm an address.
  // `refusals` counts permanent refusals (5xx) by the mail server, `slow_attempts` those that took long and failed: such
  // mails share a part of the worker's slots. `user_id` is the account that a mail is about, whichever address it goes to; null for
  // sign-in mails, whose address may have none. `trace_id` and `span_id` are those of the request, if it was traced.
  `CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    template TEXT NOT NULL,
    recipient TEXT NOT NULL,
    recipient_key TEXT NOT NULL,
    reference TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    sent_at BIGINT,
    dead_at BIGINT,
    last_error TEXT,
    priority INTEGER NOT NULL DEFAULT 1,
    refusals INTEGER NOT NULL DEFAULT 0,
    slow_attempts INTEGER NOT NULL DEFAULT 0,
    trace_id TEXT,
    span_id TEXT,
    user_id TEXT
  )`,
  'CREATE INDEX outbox_waiting ON outbox (priority, next_attempt_at) WHERE sent_at IS NULL AND dead_at IS NULL',
  'CREATE INDEX outbox_by_creation ON outbox (created_at)',
  'CREATE INDEX outbox_by_user ON outbox (user_id, created_at, id) WHERE user_id IS NOT NULL',
  'CREATE INDEX outbox_by_recipient ON outbox (recipient_key, created_at, id)',

  // A security notice with the content of its mail. The token of its link is computed from the id and the server key.
  // `session_id` is the session that caused it, `email_key` the address it goes to, `outcome` what disowning with its link undid (JSON), so that repeating the
  // link shows the same, and `restored_email` the address that it restored. Notices beyond the limit name the digest mail
  // that will list them, by its id in the outbox.
  `CREATE TABLE notices (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    email_key TEXT NOT NULL,
    session_id TEXT,
    email_change_id TEXT,
    client_name TEXT,
    device_name TEXT,
    passkey_name TEXT,
    new_email TEXT,
    ip_address TEXT,
    user_agent TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    disowned_at BIGINT,
    restored_email TEXT,
    outcome TEXT,
    approver_disowned_at BIGINT,
    digest_id TEXT
  )`,
  'CREATE INDEX notices_by_user ON notices (user_id, created_at)',
  'CREATE INDEX notices_by_expiry ON notices (expires_at)',
  'CREATE INDEX notices_by_digest ON notices (digest_id, created_at) WHERE digest_id IS NOT NULL',

  // The number of notices of a kind that an account got in the current window.
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

  // Requests counted in the current window of a rate limit. `key` is the name of the limit and a hash. Empty on SQLite, where a single process counts in memory.
  `CREATE TABLE rate_limits (
    key VARCHAR(255) PRIMARY KEY,
    points INTEGER NOT NULL DEFAULT 0,
    expire BIGINT
  )`,
  'CREATE INDEX rate_limits_by_expiry ON rate_limits (expire)',
];

const securityLog = (position: string) => [
  // The security log. `position` is the order in which all events can be read: an event whose detail changes gets a new one.
  // `detail` is a JSON object. `seq` numbers the events of an account from 1. `mac` is a key id, a dot and a MAC over the event
  // and the `mac` of the previous event. At most one event of an account has the same `once`.
  `CREATE TABLE events (
    position ${position},
    id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    session_id TEXT,
    ip_address TEXT,
    user_agent TEXT,
    detail TEXT,
    created_at BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    once TEXT,
    mac TEXT NOT NULL
  )`,
  'CREATE UNIQUE INDEX events_by_user ON events (user_id, seq)',
  'CREATE UNIQUE INDEX events_once ON events (user_id, once) WHERE once IS NOT NULL',

  // Both ends of each account's chain of events, sealed. It keeps the events after `base_seq` up to `head_seq`.
  // `oldest_at` only says when to look for expired events.
  `CREATE TABLE event_chains (
    user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    base_seq BIGINT NOT NULL,
    base_mac TEXT NOT NULL,
    head_seq BIGINT NOT NULL,
    head_mac TEXT NOT NULL,
    head_at BIGINT NOT NULL,
    oldest_at BIGINT,
    seal TEXT NOT NULL
  )`,
  'CREATE INDEX event_chains_by_age ON event_chains (oldest_at)',
];

// What an address, which needs no account, locks on PostgreSQL: the row of its bucket. Empty on SQLite.
const addressLocks = 'CREATE TABLE address_locks (bucket INTEGER PRIMARY KEY)';

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

const eventPositionsOnSqlite = [
  `CREATE TRIGGER event_amended AFTER UPDATE OF detail ON events WHEN OLD.detail IS NOT NEW.detail BEGIN
    UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'events';
    UPDATE events SET position = (SELECT seq FROM sqlite_sequence WHERE name = 'events') WHERE id = NEW.id;
  END`,
];

/**
 * A writer marks the position drawn last before it draws its own, as the feed does. One mark is enough for all events of a
 * transaction, whose own setting ends with it. The first position is drawn here so that `last_value` always names one that
 * was drawn.
 */
const eventSequence = [
  'CREATE SEQUENCE event_sequence',
  "SELECT nextval('event_sequence')",
  `CREATE FUNCTION next_event_position() RETURNS BIGINT LANGUAGE plpgsql AS $$ BEGIN
    IF coalesce(current_setting('latchkey.writes_events', true), '') = '' THEN
      PERFORM mark_writer(1, last_value) FROM event_sequence;
      PERFORM set_config('latchkey.writes_events', 'yes', true);
    END IF;
    RETURN nextval('event_sequence');
  END $$`,
];

const eventPositionsOnPostgres = [
  `CREATE FUNCTION position_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.position := next_event_position();
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER event_amended BEFORE UPDATE OF detail ON events FOR EACH ROW
    WHEN (OLD.detail IS DISTINCT FROM NEW.detail) EXECUTE FUNCTION position_event()`,
];

/**
 * The order of events. It grows with each event and is never used again, even after the newest rows were swept. On PostgreSQL the
 * numbers come from a sequence, whose first number is drawn here so that `last_value` always names a number that was drawn.
 */
const feedSequence = ['CREATE SEQUENCE feed_sequence', "SELECT nextval('feed_sequence')"];

const feed = (seq: string) => [
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
];

export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const numbered = isPostgres ? 'BIGINT NOT NULL PRIMARY KEY' : 'INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT';
  const positioned = isPostgres ? `${numbered} DEFAULT next_event_position()` : numbered;
  const statements = [
    ...[accounts, sessions, signIns, services, mailsAndLimits, addressLocks].flat(),
    ...(isPostgres ? [...locks, ...eventSequence] : []),
    ...securityLog(positioned),
    ...(isPostgres ? eventPositionsOnPostgres : eventPositionsOnSqlite),
    ...(isPostgres ? feedSequence : []),
    ...feed(numbered),
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
