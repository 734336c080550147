import { Database as Connection } from 'bun:sqlite';
import type { Value } from '../executor.ts';
import { appliedMigrations } from '../migrate.ts';
import { withConnection } from '../postgres-primary.ts';
import { whenFree } from '../sqlite.ts';
import { type BackupRow, backupTables } from './format.ts';

/** A database at one moment, whatever is written to it meanwhile. */
export interface Snapshot {
  /** The number in the feed that was drawn last. */
  readonly feedPosition: number;
  /** The position in the security log that was drawn last. */
  readonly eventPosition: number;
  /** The migration that was applied last. */
  readonly schema: string;
  rows(): AsyncIterable<BackupRow>;
}

type Row = Record<string, Value>;

/** How many rows of PostgreSQL are in memory at a time. */
const cursorRows = 500;

/** How long another process may keep the file busy, for example to recover it. */
const busyDeadlineMs = 5_000;

const lastMigration = `${appliedMigrations} ORDER BY name DESC LIMIT 1`;

/** Lets `work` read the database of a URL as it is at one moment, without blocking writers. */
export const withSnapshot = <T>(url: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> =>
  url.startsWith('sqlite:') ? ofSqlite(url.slice('sqlite:'.length), work) : ofPostgres(url, work);

/** The rows of all tables. @param read runs a statement */
async function* rowsOf(
  read: (statement: string) => AsyncIterable<Row> | Iterable<Row>,
): AsyncGenerator<BackupRow> {
  for (const table of backupTables) {
    let columns: readonly string[] | undefined;
    for await (const row of read(`SELECT * FROM "${table}"`)) {
      // Events are numbered anew, behind a gap, so that readers of the log get every event of the restored one.
      columns ??= Object.keys(row).filter((column) => table !== 'events' || column !== 'position');
      yield { table, columns, values: columns.map((column) => row[column] ?? null) };
    }
  }
}

async function ofSqlite<T>(path: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const connection = await whenFree(busyDeadlineMs, () => new Connection(path, { readonly: true }));
  try {
    connection.run('BEGIN');
    // The first statement that reads takes the snapshot.
    const drawn = await whenFree(busyDeadlineMs, () =>
      connection.query<{ name: string; seq: number }, []>('SELECT name, seq FROM sqlite_sequence').all(),
    );
    const lastOf = (table: string): number => drawn.find(({ name }) => name === table)?.seq ?? 0;
    return await work({
      feedPosition: lastOf('feed_events'),
      eventPosition: lastOf('events'),
      schema: connection.query<{ name: string }, []>(lastMigration).get()!.name,
      rows: () => rowsOf((statement) => connection.query<Row, []>(statement).iterate()),
    });
  } finally {
    connection.close();
  }
}

async function ofPostgres<T>(url: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const connection = { application_name: 'latchkey backup' };
  return withConnection(url, { connection }, async (sql) => {
    return (await sql.begin('isolation level repeatable read read only', async (tx) => {
      // The first statement takes the snapshot. A sequence is not part of it, so its number can only be too high.
      await tx.unsafe('SELECT 1 FROM users LIMIT 1');
      const lastOf = async (sequence: string): Promise<number> =>
        (await tx.unsafe<{ last_value: number }[]>(`SELECT last_value FROM ${sequence}`))[0]!.last_value;
      const [feedPosition, eventPosition] = [await lastOf('feed_sequence'), await lastOf('event_sequence')];
      const [migration] = await tx.unsafe<{ name: string }[]>(lastMigration);
      return work({
        feedPosition,
        eventPosition,
        schema: migration!.name,
        rows: () =>
          rowsOf(async function* (statement) {
            for await (const rows of tx.unsafe<Row[]>(statement).cursor(cursorRows)) yield* rows;
          }),
      });
    })) as T;
  });
}
