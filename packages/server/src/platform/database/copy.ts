import { Database as Connection } from 'bun:sqlite';
import { randomUUID } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { reasonOf } from '../telemetry/redact.ts';
import { type Executor, StoreRefusal, type Value } from './executor.ts';
import { inLongTransaction } from './long-transaction.ts';
import { appliedMigrations, migrate, migrationNames } from './migrate.ts';
import { executorOn as postgresExecutor, withoutTimeouts } from './postgres.ts';
import { onlyPrimary, withConnection } from './postgres-primary.ts';
import { asStoreError, executorOn as sqliteExecutor, sqlitePathOf, whenFree } from './sqlite.ts';
import { requireUnserved } from './store-lock.ts';
import { removeRestoreGuard, tableNames, takeOverNumbers } from './stored-rows.ts';

type Row = Readonly<Record<string, Value>>;

/** A database at one moment. */
interface Source extends Executor {
  rows(table: string): AsyncIterable<Row> | Iterable<Row>;
}

/** How many rows are inserted at once. A SQLite statement can have at most 32,766 parameters. */
const rowsPerStatement = 200;

/**
 * Copies all rows of a database that no service uses into an empty one of either kind, in one transaction, so
 * a failure leaves the target unchanged. Returns how many rows each table has.
 * @throws {StoreRefusal} unless the source is unused and the target is empty
 */
export const copyStore = (from: string, to: string): Promise<Readonly<Record<string, number>>> =>
  withSource(from, async (source) => {
    await requireCurrent(source, 'the database to copy');
    let isOpen = false;
    const copied = inLongTransaction(to, async (tx) => {
      isOpen = true;
      await requireEmpty(tx);
      await migrate(tx);
      const counts: Record<string, number> = {};
      for (const table of tableNames) counts[table] = await copyTable(source, tx, table);
      await takeOverNumbers(source, tx);
      return counts;
    });
    return copied.catch((error) => {
      if (isOpen || error instanceof StoreRefusal) throw error;
      throw new StoreRefusal(`the database to fill cannot be opened (${reasonOf(error.cause ?? error)})`);
    });
  });

function withSource<T>(url: string, work: (source: Source) => Promise<T>): Promise<T> {
  const path = sqlitePathOf(url);
  return path === undefined ? fromPostgres(url, work) : fromSqlite(path, work);
}

async function fromSqlite<T>(path: string, work: (source: Source) => Promise<T>): Promise<T> {
  const connection = await whenFree(() => new Connection(path, { readonly: true }));
  try {
    connection.run('BEGIN');
    return await work({
      ...sqliteExecutor(connection, undefined),
      rows: (table) => connection.query<Row, []>(`SELECT * FROM "${table}"`).iterate(),
    });
  } finally {
    connection.close();
  }
}

async function fromPostgres<T>(url: string, work: (source: Source) => Promise<T>): Promise<T> {
  const connection = { application_name: 'latchkey reader', ...withoutTimeouts };
  return withConnection(url, { ...onlyPrimary, connection }, async (sql) => {
    return (await sql.begin('isolation level repeatable read', async (tx) => {
      const source = postgresExecutor(tx, false);
      await requireUnserved(source);
      return work({
        ...source,
        async *rows(table) {
          const all = tx.unsafe<Row[]>(`SELECT * FROM "${table}"`);
          for await (const rows of all.cursor(rowsPerStatement)) yield* rows;
        },
      });
    })) as T;
  });
}

async function copyTable(source: Source, tx: Executor, table: string): Promise<number> {
  let count = 0;
  let rows: Row[] = [];
  const flush = async (): Promise<void> => {
    if (rows.length > 0) await insert(tx, table, rows);
    count += rows.length;
    rows = [];
  };
  for await (const row of source.rows(table)) {
    rows.push(row);
    if (rows.length === rowsPerStatement) await flush();
  }
  await flush();
  return count;
}

async function insert(tx: Executor, table: string, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0]!);
  const slot = (index: number): string => (tx.dialect === 'postgres' ? `$${index + 1}` : '?');
  const tuples = rows.map(
    (_, at) => `(${columns.map((_, column) => slot(at * columns.length + column)).join(', ')})`,
  );
  const names = columns.map((column) => `"${column}"`).join(', ');
  const values = rows.flatMap((row) => columns.map((column) => row[column] ?? null));
  await tx.run(`INSERT INTO "${table}" (${names}) VALUES ${tuples.join(', ')}`, values);
}

/** @throws {StoreRefusal} unless the database has the schema of this program */
async function requireCurrent(on: Executor, what: string): Promise<void> {
  const applied = await on.run<{ name: string }>(`${appliedMigrations} ORDER BY name`, []);
  if (applied.map(({ name }) => name).join() !== migrationNames.join())
    throw new StoreRefusal(`${what} is of another release of Latchkey`);
}

/** @throws {StoreRefusal} unless the database has no tables, or those of this program without a row */
async function requireEmpty(tx: Executor): Promise<void> {
  const tables = await tx.run<{ name: string }>(
    tx.dialect === 'postgres'
      ? 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()'
      : "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    [],
  );
  if (tables.length === 0) return;
  if (!tables.some(({ name }) => name === 'kysely_migration'))
    throw new StoreRefusal('the database to fill is not empty');
  await requireCurrent(tx, 'the database to fill');
  for (const table of tableNames) {
    const rows = await tx.run(`SELECT 1 AS found FROM "${table}" LIMIT 1`, []);
    if (rows.length > 0) throw new StoreRefusal('the database to fill is not empty');
  }
}

/**
 * Writes a copy of a SQLite database as of one moment, while other processes use it. It appears under its
 * name once it is complete on the disk, for its owner only, and needs `finish-restore`.
 * @throws {Error} of the file system: `EEXIST` if the file exists
 */
export async function backUpSqlite(path: string, file: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  await (await open(temporary, 'wx', 0o600)).close();
  try {
    const source = await whenFree(() => new Connection(path, { readonly: true }));
    try {
      await whenFree(() => source.query('VACUUM INTO ?').run(temporary));
    } finally {
      source.close();
    }
    const copy = new Connection(temporary, { readwrite: true, create: false });
    copy.run(removeRestoreGuard);
    copy.close();
    await sync(temporary);
    // Unlike a rename, this replaces no file.
    await link(temporary, file);
  } catch (error) {
    throw asStoreError(error);
  } finally {
    await rm(temporary, { force: true });
  }
  await sync(dirname(file));
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
