// Fills a database with sessions, using the service's own statements, and creates the tokens of those sessions.

import { Database as Connection } from 'bun:sqlite';
import { insertUser } from '../../packages/server/src/identity/account/store.ts';
import { mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import type { KeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import { sha256 } from '../../packages/server/src/platform/crypto/primitives.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';
import { statement, textsOf } from '../../packages/server/src/platform/database/statement.ts';
import { insertChain } from '../../packages/server/src/security-log/events/store.ts';
import { insertSession } from '../../packages/server/src/sessions/store.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';

const dayMs = 86_400_000;
const accessTokenTtlMs = 4 * 3_600_000;
const refreshIdleTtlMs = 30 * dayMs;
const sessionTtlMs = 180 * dayMs;
const batchSize = 5000;
/** A transaction of the service's database must not take long, and on a busy machine rows do. */
const postgresBatchSize = 500;
const fillCacheKiB = 2 * 1024 * 1024;

/** How many sessions an account has. */
const sessionsPerUser = 4;

/** Ids in no order, like random ones. */
const idOf = (prefix: string, index: number): string =>
  prefix + sha256(prefix, `${index}`).subarray(0, 16).toString('base64url');

const secretOf = (index: number): Buffer => sha256('bench session', `${index}`).subarray(0, subjectBytes);

export const sessionIdAt = (index: number): string => sessionIdOf(secretOf(index));

/** The number of an account is that of its first session, divided by the sessions of an account. */
export const userIdAt = (index: number): string => idOf('usr_', index);

export const emailAt = (index: number): string => `person-${String(index).padStart(8, '0')}@example.com`;

export const userHandleAt = (index: number): string =>
  sha256('handle', `${index}`).toString('base64url').padEnd(86, 'A');

/** Adds an account. All accounts have the same size. */
async function addUser(tx: Executor, index: number, now: number): Promise<void> {
  const email = emailAt(index);
  await insertUser(tx, {
    id: userIdAt(index),
    email,
    email_key: email,
    name: email.split('@')[0]!,
    locale: null,
    webauthn_user_handle: userHandleAt(index),
    now,
  });
  await insertChain(tx, { user_id: userIdAt(index) });
}

async function addSession(tx: Executor, index: number, now: number): Promise<void> {
  await insertSession(tx, {
    id: sessionIdAt(index),
    user_id: userIdAt(Math.floor(index / sessionsPerUser)),
    session_epoch: null,
    kind: 'device',
    method: 'device_code',
    client_name: 'latchkey',
    device_name: 'a-laptop-of-somebody',
    ip_address: '192.0.2.44',
    user_agent: 'latchkey/0.1.0 (linux x64) bun/1.4',
    now,
    idle_expires_at: now + refreshIdleTtlMs,
    expires_at: now + sessionTtlMs,
    parent_session_id: idOf('ses_', index),
    passkey_id: null,
    email_key: null,
    scope: null,
    resource: null,
    authorization_details: null,
    client_id: null,
    authenticated_at: null,
    authenticated_by: null,
    trust: null,
    last_used_at: now,
  });
}

/** Migrates a database and adds sessions, numbered from 0, with their accounts. */
export async function fillStore(databaseUrl: string, sessions: number): Promise<void> {
  const db = await openDatabase(databaseUrl, { log: { warn: () => undefined } });
  if (db.dialect === 'sqlite') {
    await db.close();
    await fillFile(databaseUrl.slice('sqlite:'.length), sessions);
    return;
  }
  for (const batch of batchesOf(sessions, postgresBatchSize))
    await db.transaction((tx) => addBatch(tx, batch));
  await db.close();
}

/** Opens a file to fill it, without protection against a power failure: a partial file would be useless anyway. */
export function openForFilling(path: string): Connection {
  const connection = new Connection(path, { strict: true });
  for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', `cache_size = -${fillCacheKiB}`]) {
    connection.run(`PRAGMA ${pragma}`);
  }
  return connection;
}

/** Fills the file in one transaction. */
async function fillFile(path: string, sessions: number): Promise<void> {
  const connection = openForFilling(path);
  const tx: Executor = {
    dialect: 'sqlite',
    run: async <Row>(text: string, values: readonly (string | number | null)[]) =>
      connection.query(text).all(...values) as Row[],
  };
  connection.run('BEGIN');
  for (const batch of batchesOf(sessions, batchSize)) await addBatch(tx, batch);
  connection.run('COMMIT');
  connection.close();
}

function* batchesOf(sessions: number, size: number): Generator<number[]> {
  for (let first = 0; first < sessions; first += size) {
    yield Array.from({ length: Math.min(size, sessions - first) }, (_, at) => first + at);
  }
}

async function addBatch(tx: Executor, sessions: readonly number[]): Promise<void> {
  const now = Date.now();
  const users = sessions
    .filter((index) => index % sessionsPerUser === 0)
    .map((index) => index / sessionsPerUser);
  await Promise.all(users.map((index) => addUser(tx, index, now)));
  await Promise.all(sessions.map((index) => addSession(tx, index, now)));
  // As after a refresh: rows that grow at their first one would be measured as splitting pages.
  await tx.run(
    "UPDATE sessions SET rotated_network = '192.0.2.0/24', rotated_program = 'latchkey' WHERE rotated_network IS NULL",
    [],
  );
}

export const accessTokenOf = (keys: KeyRing, index: number): string =>
  mintHandle(keys, 'accessToken', { subject: secretOf(index), value: Date.now() + accessTokenTtlMs });

const generationsOf = statement<{ ids: string }>()((db, p, dialect) =>
  db.selectFrom('sessions').select(['id', 'generation']).where('id', 'in', textsOf(p.ids, dialect)),
);

/** The unspent refresh tokens of sessions. */
export async function unspentTokensOf(
  on: Executor,
  keys: KeyRing,
  indexes: readonly number[],
): Promise<string[]> {
  const rows = await generationsOf(on, { ids: JSON.stringify(indexes.map(sessionIdAt)) });
  const generations = new Map(rows.map(({ id, generation }) => [id, generation]));
  return indexes.map((index) => {
    const value = generations.get(sessionIdAt(index));
    if (value === undefined) throw new Error(`there is no session ${index}`);
    return mintHandle(keys, 'refreshToken', { subject: secretOf(index), value });
  });
}
