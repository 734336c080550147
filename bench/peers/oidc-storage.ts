// What oidc-provider stores, in one table of SQLite or PostgreSQL. It brings no such storage of its own.

import { Database } from 'bun:sqlite';
import { Pool } from 'pg';

/** As many as Latchkey opens. */
const postgresConnections = 16;

type Row = { readonly payload: string; readonly consumed_at: number | null };
type Value = string | number | null;
type Run = (text: string, ...values: Value[]) => Promise<Row[]>;

const createTable = `CREATE TABLE IF NOT EXISTS oidc_payloads (
  id TEXT PRIMARY KEY, payload TEXT NOT NULL, grant_id TEXT, user_code TEXT, uid TEXT, expires_at BIGINT, consumed_at BIGINT)`;
const indexes = ['grant_id', 'user_code', 'uid'].map(
  (column) => `CREATE INDEX IF NOT EXISTS oidc_payloads_${column} ON oidc_payloads (${column})`,
);

function runOn(databaseUrl: string): Run {
  if (!databaseUrl.startsWith('sqlite:')) {
    const pool = new Pool({ connectionString: databaseUrl, max: postgresConnections });
    // A name keeps the statement prepared on its connection.
    return async (text, ...values) => (await pool.query<Row>({ name: text.slice(0, 60), text, values })).rows;
  }
  const database = new Database(databaseUrl.slice('sqlite:'.length));
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL']) database.run(`PRAGMA ${pragma}`);
  return async (text, ...values) => database.query<Row, Value[]>(text).all(...values);
}

interface Payload {
  readonly grantId?: string;
  readonly userCode?: string;
  readonly uid?: string;
}

const inSeconds = (): number => Math.floor(Date.now() / 1000);

/** The adapter of a database, for the `adapter` option. @see oidc-provider, example/my_adapter.js */
export async function storageOn(databaseUrl: string) {
  const run = runOn(databaseUrl);
  for (const text of [createTable, ...indexes]) await run(text);

  const found = ([row]: Row[]) =>
    row && {
      ...JSON.parse(row.payload),
      ...(row.consumed_at === null ? {} : { consumed: Number(row.consumed_at) }),
    };
  const findBy = (column: string) => async (value: string) =>
    found(await run(`SELECT payload, consumed_at FROM oidc_payloads WHERE ${column} = $1`, value));

  return (model: string) => {
    const key = (id: string): string => `${model}:${id}`;
    return {
      upsert: async (id: string, payload: Payload, expiresIn: number | undefined) =>
        void (await run(
          `INSERT INTO oidc_payloads (id, payload, grant_id, user_code, uid, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (id) DO UPDATE SET payload = excluded.payload, expires_at = excluded.expires_at`,
          key(id),
          JSON.stringify(payload),
          payload.grantId ?? null,
          payload.userCode ?? null,
          payload.uid ?? null,
          expiresIn === undefined ? null : inSeconds() + expiresIn,
        )),
      find: (id: string) => findBy('id')(key(id)),
      findByUserCode: findBy('user_code'),
      findByUid: findBy('uid'),
      consume: async (id: string) =>
        void (await run('UPDATE oidc_payloads SET consumed_at = $1 WHERE id = $2', inSeconds(), key(id))),
      destroy: async (id: string) => void (await run('DELETE FROM oidc_payloads WHERE id = $1', key(id))),
      revokeByGrantId: async (id: string) =>
        void (await run('DELETE FROM oidc_payloads WHERE grant_id = $1', id)),
    };
  };
}
