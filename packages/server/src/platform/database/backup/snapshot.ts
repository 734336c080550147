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

const selectAll = (table: string): string => `SELECT * FROM "${table}"`;

/** Lets `work` read the database of a URL as it is at one moment, without blocking writers. */
export const withSnapshot = <T>(url: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> =>
  url.startsWith('sqlite:') ? ofSqlite(url.slice('sqlite:'.length), work) : ofPostgres(url, work);

/** Events are numbered anew, behind a gap, so that readers of the log get every event of the restored one. */
const columnsOf = (table: string, row: Row): string[] =>
  Object.keys(row).filter((column) => table !== 'events' || column !== 'position');

const rowOf = (table: string, columns: readonly string[], row: Row): BackupRow => ({
  table,
  columns,
  values: columns.map((column) => row[column] ?? null),
});

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
      rows: async function* () {
        for (const table of backupTables) {
          let columns: readonly string[] | undefined;
          for (const row of connection.query<Row, []>(selectAll(table)).iterate()) {
            columns ??= columnsOf(table, row);
            yield rowOf(table, columns, row);
          }
        }
      },
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
        rows: async function* () {
          for (const table of backupTables) {
            let columns: readonly string[] | undefined;
            for await (const rows of tx.unsafe<Row[]>(selectAll(table)).cursor(cursorRows)) {
              for (const row of rows) {
                columns ??= columnsOf(table, row);
                yield rowOf(table, columns, row);
              }
            }
          }
        },
      });
    })) as T;
  });
}
