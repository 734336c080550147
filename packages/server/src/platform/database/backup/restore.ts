import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Database, Executor, Value } from '../executor.ts';
import { migrations as allMigrations, type Migrations, migrate } from '../migrate.ts';
import { databaseWithin } from '../within.ts';
import {
  type BackupEnd,
  BackupError,
  type BackupHeader,
  type BackupRow,
  readBackup,
  type SealCheck,
} from './format.ts';
import { inLongTransaction } from './single-connection.ts';

export interface RestoreOptions {
  readonly url: string;
  readonly file: string;
  readonly seal: SealCheck;
  /** Default: those of this program. */
  readonly migrations?: Migrations;
}

export interface Restored extends BackupEnd {
  readonly header: BackupHeader;
}

/** How many rows are inserted at once. Their values stay below the 32,766 parameters of a SQLite statement. */
const rowsPerStatement = 200;

/**
 * How many numbers of the feed and of the security log are skipped. Those that the service drew after the backup are not drawn
 * again, unless it wrote more events than this.
 */
const numberGap = 1_000_000;

/** By table, what PostgreSQL draws its numbers by: for a row of the security log also while that is restored. */
const sequences = {
  feed_events: 'feed_sequence',
  events: 'event_sequence',
  ordinals: 'ordinal_sequence',
} as const;

const gzipMagic = Buffer.from([0x1f, 0x8b]);

/**
 * Loads a backup into an empty database and brings its schema up to date, then runs `finish`: all in one transaction, so
 * whatever fails leaves the database as it was. The file is verified before anything is written.
 * @throws {BackupError} if the file cannot be restored, or the database is not empty
 */
export async function restoreBackup(
  { url, file, seal, migrations = allMigrations }: RestoreOptions,
  finish: (db: Database) => Promise<void>,
): Promise<Restored> {
  const restored = await verify(file, seal, migrations);
  await inLongTransaction(url, async (tx) => {
    await requireEmpty(tx, restored.header);
    await migrate(tx, migrations, restored.header.schema);
    const { feed_position, event_position } = restored.header;
    const tables = new Set(await tablesOf(tx));
    if (tables.has('events')) await continueNumbers(tx, 'events', event_position + numberGap);
    await load(tx, tables, file, seal);
    await continueNumbers(tx, 'feed_events', feed_position + numberGap);
    await migrate(tx, migrations);
    await continueNumbers(tx, 'ordinals', await lastOrdinal(tx));
    await finish(databaseWithin(tx));
  });
  return restored;
}

async function verify(file: string, seal: SealCheck, migrations: Migrations): Promise<Restored> {
  let header: BackupHeader | undefined;
  let end: BackupEnd | undefined;
  for await (const entry of readBackup(bytesOf(file), seal)) {
    if ('isSealed' in entry) end = entry;
    else if (!isRow(entry)) header = entry;
  }
  // A backup that lacks either has been refused.
  const restored = { header: header!, ...end! };
  if (!Object.hasOwn(migrations, restored.header.schema)) {
    throw new BackupError(
      `it was written by a newer release of Latchkey (${restored.header.release}); restore it with that one`,
    );
  }
  return restored;
}

const isRow = (entry: BackupHeader | BackupRow | BackupEnd): entry is BackupRow => 'table' in entry;

/** The content of a file, decompressed if it is compressed. @throws {BackupError} if that fails */
async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  if (!(await isCompressed(file))) return yield* createReadStream(file);
  const source = createReadStream(file);
  const unzipped = createGunzip();
  const piped = pipeline(source, unzipped).catch((error: unknown) => unzipped.destroy(error as Error));
  try {
    yield* unzipped;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code?.startsWith('Z_') || code === 'ERR_STREAM_PREMATURE_CLOSE'
      ? new BackupError('it cannot be decompressed: it is incomplete or damaged')
      : error;
  } finally {
    source.destroy();
    await piped;
  }
}

async function isCompressed(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.equals(gzipMagic);
  } finally {
    await handle.close();
  }
}

/** The tables of the database, without the system tables. */
const tablesOf = async (tx: Executor): Promise<string[]> =>
  (
    await tx.run<{ name: string }>(
      tx.dialect === 'postgres'
        ? 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()'
        : "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
      [],
    )
  ).map(({ name }) => name);

/** @throws {BackupError} unless the database has no tables, or the tables of the backup's schema without a row */
async function requireEmpty(tx: Executor, { schema }: BackupHeader): Promise<void> {
  const tables = await tablesOf(tx);
  if (tables.length === 0) return;
  const applied = tables.includes('kysely_migration')
    ? await tx.run<{ name: string }>('SELECT name FROM kysely_migration ORDER BY name', [])
    : [];
  for (const table of tables.filter((name) => !/^(?:kysely_|address_locks$)/.test(name))) {
    const rows = await tx.run(`SELECT 1 FROM "${table}" LIMIT 1`, []);
    if (rows.length > 0) throw new BackupError('the database is not empty: restore into a new one');
  }
  if (applied.at(-1)?.name !== schema) {
    throw new BackupError(
      'the database is empty, but its schema is not that of the backup: restore into a new one, which restore creates itself',
    );
  }
}

async function load(tx: Executor, tables: ReadonlySet<string>, file: string, seal: SealCheck): Promise<void> {
  let rows: BackupRow[] = [];
  const flush = async (): Promise<void> => {
    if (rows.length > 0) await insert(tx, rows);
    rows = [];
  };
  for await (const entry of readBackup(bytesOf(file), seal)) {
    if (!isRow(entry)) continue;
    if (!tables.has(entry.table))
      throw new BackupError(`it has a table ${entry.table} that its schema does not have`);
    if (rows.length === rowsPerStatement || rows[0]?.table !== entry.table) await flush();
    rows.push(entry);
  }
  await flush();
}

async function insert(tx: Executor, rows: readonly BackupRow[]): Promise<void> {
  const { table, columns } = rows[0]!;
  const width = columns.length;
  const slot = (index: number): string => (tx.dialect === 'postgres' ? `$${index + 1}` : '?');
  const tuples = rows.map((_, at) => `(${columns.map((_, column) => slot(at * width + column)).join(', ')})`);
  const names = columns.map((column) => `"${column}"`).join(', ');
  const values: Value[] = rows.flatMap((row) => [...row.values]);
  await tx.run(`INSERT INTO "${table}" (${names}) VALUES ${tuples.join(', ')}`, values);
}

/** The last ordinal that a restored row has: later ones were drawn for what the backup does not have. */
async function lastOrdinal(tx: Executor): Promise<number> {
  const columns = ['sessions.ordinal', 'passkeys.ordinal', 'email_changes.ordinal', 'notices.ordinal'];
  const each = columns.map((column) => `(SELECT coalesce(max(${column}), 1) FROM ${column.split('.')[0]})`);
  const [row] = await tx.run<{ last: number }>(
    `SELECT ${tx.dialect === 'postgres' ? 'greatest' : 'max'}(${each.join(', ')}) AS last`,
    [],
  );
  return Number(row!.last);
}

/** Continues the numbers of a table, which its rows and the service draw, after this one. */
async function continueNumbers(tx: Executor, table: keyof typeof sequences, after: number): Promise<void> {
  if (tx.dialect === 'postgres') {
    await tx.run(`SELECT setval('${sequences[table]}', $1)`, [after]);
    return;
  }
  await tx.run('DELETE FROM sqlite_sequence WHERE name = ?', [table]);
  await tx.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', [table, after]);
}
