// Fills a database with more accounts than `fillStore` can in reasonable time. Each has one session. The rows are copies of
// the first ones, with ids of their own, so the helpers of store.ts find them.

import type { Database as Connection } from 'bun:sqlite';
import postgres from 'postgres';
import { subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import { emailAt, fillStore, openForFilling, sessionIdAt, userHandleAt, userIdAt } from './store.ts';

/** Fills a new database with accounts, numbered from 0, and a session of each. */
export async function fillInBulk(databaseUrl: string, accounts: number): Promise<void> {
  await fillStore(databaseUrl, 1);
  if (databaseUrl.startsWith('sqlite:')) fillFile(databaseUrl.slice('sqlite:'.length), accounts);
  else await fillPostgres(databaseUrl, accounts);
}

/** What differs between the rows of a table: an expression, with `?1` or `n` for the number of the row, for each column. */
type Differences = Readonly<Record<string, string>>;

/** The columns of a copy of the first row, as the start of a statement that goes on with where the first row is. */
const copyOf = (table: string, columns: readonly string[], differences: Differences): string =>
  `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${columns.map((name) => differences[name] ?? name).join(', ')}`;

/** Filling takes longer than the interval after which the service stores the use of a session again. */
const unused: Readonly<Record<string, Differences>> = {
  sessions: { last_used_at: 'last_used_at + 3600000' },
};

function fillFile(path: string, accounts: number): void {
  const connection = openForFilling(path);
  const addUser = copier(connection, 'users', ['id', 'email', 'email_key', 'webauthn_user_handle']);
  const addSession = copier(connection, 'sessions', ['id', 'user_id']);
  connection.run('BEGIN');
  for (let index = 1; index < accounts; index++) {
    addUser(userIdAt(index), emailAt(index), emailAt(index), userHandleAt(index));
    addSession(sessionIdAt(index), userIdAt(index));
  }
  connection.run('COMMIT');
  connection.close();
}

/** Returns what inserts a copy of the only row of a table with other values in these columns. */
function copier(connection: Connection, table: string, differing: readonly string[]) {
  const columns = connection
    .query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)')
    .all(table)
    .map(({ name }) => name);
  const values = differing.map((name, index) => [name, `?${index + 1}`] as const);
  const differences = { ...Object.fromEntries(values), ...unused[table] };
  const text = `${copyOf(table, columns, differences)} FROM ${table} WHERE rowid = 1`;
  const insert = connection.prepare<unknown, string[]>(text);
  return (...values: string[]) => void insert.run(...values);
}

const base64url = (bytes: string): string => `translate(rtrim(encode(${bytes}, 'base64'), '='), '+/', '-_')`;
const hashOf = (label: string, bytes: string): string =>
  `sha256(convert_to('${label.length}:${label}', 'UTF8') || ${bytes})`;
const subjectOf = (bytes: string): string => `substring(${bytes} FROM 1 FOR ${subjectBytes})`;
const numberBytes = "convert_to(n::text, 'UTF8')";

const userId = `'usr_' || ${base64url(subjectOf(hashOf('usr_', numberBytes)))}`;
const email = "'person-' || lpad(n::text, 8, '0') || '@example.com'";
const secret = subjectOf(hashOf('bench session', numberBytes));
/** The functions of store.ts in SQL. */
const copies: Readonly<Record<string, Differences>> = {
  users: {
    ...{ id: userId, email, email_key: email },
    webauthn_user_handle: `rpad(${base64url(hashOf('handle', numberBytes))}, 86, 'A')`,
  },
  sessions: { id: `'ses_' || ${base64url(subjectOf(hashOf('session id', secret)))}`, user_id: userId },
};

async function fillPostgres(databaseUrl: string, accounts: number): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  await withoutIndexes(sql, Object.keys(copies), async () => {
    for (const [table, differences] of Object.entries(copies)) {
      const columns = await sql<{ name: string }[]>`
        SELECT column_name AS name FROM information_schema.columns WHERE table_name = ${table}`;
      const names = columns.map(({ name }) => name);
      await sql.unsafe(`${copyOf(table, names, { ...differences, ...unused[table] })}
        FROM (SELECT * FROM ${table} LIMIT 1) AS first, generate_series(1, ${accounts - 1}) AS n`);
    }
  });
  await sql`VACUUM ANALYZE`;
  await sql.end();
}

/**
 * Fills tables on PostgreSQL without their indexes and foreign keys, and then restores these: sorting all keys once takes a
 * fraction of the time of looking up the place of each.
 */
async function withoutIndexes(
  sql: postgres.Sql,
  tables: readonly string[],
  fill: () => Promise<void>,
): Promise<void> {
  const constraints = await sql<{ name: string; table: string; definition: string }[]>`
    SELECT conname AS name, conrelid::regclass::text AS table, pg_get_constraintdef(oid) AS definition
    FROM pg_constraint WHERE contype IN ('p', 'u', 'f')
      AND (conrelid::regclass::text IN ${sql(tables)} OR confrelid::regclass::text IN ${sql(tables)})
    ORDER BY contype = 'f'`;
  const indexes = await sql<{ name: string; definition: string }[]>`
    SELECT indexname AS name, indexdef AS definition FROM pg_indexes
    WHERE tablename IN ${sql(tables)} AND indexname NOT IN (SELECT conname FROM pg_constraint)`;
  const dropped = constraints.toReversed();
  for (const { name, table } of dropped) await sql.unsafe(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  for (const { name } of indexes) await sql.unsafe(`DROP INDEX ${name}`);
  await fill();
  await sql.unsafe("SET maintenance_work_mem = '1GB'");
  for (const { definition } of indexes) await sql.unsafe(definition);
  for (const { name, table, definition } of constraints)
    await sql.unsafe(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
}
