// What moves, and what a restore ends: all rows, by table, and the numbers that are drawn for them.

import type { Executor } from './executor.ts';
import type { Tables } from './schema.ts';

/**
 * What of a restored table is still valid; a row references only rows of its own or an earlier table. What is
 * `over` would be sent or used again, or readers of the feed have read further.
 */
const lifeAfterRestore: Readonly<Record<keyof Tables, 'valid' | 'over'>> = {
  users: 'valid',
  organizations: 'valid',
  memberships: 'valid',
  service_keys: 'valid',
  declarations: 'valid',
  signing_keys: 'valid',
  sessions: 'valid',
  passkeys: 'valid',
  // Otherwise the response to a challenge that has not expired could be used again.
  spent_challenges: 'valid',
  events: 'valid',
  event_chains: 'valid',
  log_totals: 'valid',
  email_changes: 'valid',
  notices: 'valid',
  feed_events: 'valid',
  rate_limits: 'valid',
  authorization_codes: 'over',
  device_authorizations: 'over',
  magic_links: 'over',
  service_tokens: 'over',
  outbox: 'over',
  // They refer to the email that lists the notices of a window.
  notice_windows: 'over',
  feed_readers: 'over',
  feed_acknowledgements: 'over',
};

/** All tables with rows of the service; a row references only rows of the same or an earlier one. */
export const tableNames = Object.keys(lifeAfterRestore) as readonly (keyof Tables)[];

/** Deletes the rows that a restore must not bring back. */
export async function deleteOverAfterRestore(tx: Executor): Promise<void> {
  for (const table of tableNames.toReversed())
    if (lifeAfterRestore[table] === 'over') await tx.run(`DELETE FROM "${table}"`, []);
}

/** What draws numbers on PostgreSQL, by its name in `sqlite_sequence`. */
const sequences = {
  feed_events: 'feed_sequence',
  events: 'event_sequence',
  ordinals: 'ordinal_sequence',
} as const;

type Numbered = keyof typeof sequences;

const numbered = Object.keys(sequences) as readonly Numbered[];

/** How many numbers a restore skips. Those drawn after the backup are not drawn again, unless there were more. */
const numberGap = 1_000_000;

async function lastNumber(on: Executor, name: Numbered): Promise<number> {
  const [row] = await (on.dialect === 'postgres'
    ? on.run<{ last: number }>(`SELECT last_value AS last FROM ${sequences[name]}`, [])
    : on.run<{ last: number }>('SELECT seq AS last FROM sqlite_sequence WHERE name = ?', [name]));
  return row?.last ?? 0;
}

/** Continues the numbers after this one, which counts as drawn. */
async function continueNumbers(tx: Executor, name: Numbered, last: number): Promise<void> {
  if (tx.dialect === 'postgres') {
    await tx.run(`SELECT setval('${sequences[name]}', $1)`, [Math.max(last, 1)]);
    return;
  }
  await tx.run('DELETE FROM sqlite_sequence WHERE name = ?', [name]);
  await tx.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', [name, last]);
}

/** Draws the numbers of a database where those of another one ended. */
export async function takeOverNumbers(from: Executor, tx: Executor): Promise<void> {
  for (const name of numbered) await continueNumbers(tx, name, await lastNumber(from, name));
}

/** Leaves a gap in the numbers of a restored database, so that readers who got a later one miss nothing that is new. */
export async function skipNumbers(tx: Executor): Promise<void> {
  for (const name of numbered) await continueNumbers(tx, name, (await lastNumber(tx, name)) + numberGap);
}

// The table `restore_guard` says that a database is not a copy that was restored, or that `finish-restore` has run on it: on SQLite by
// a row, which `backup` leaves out of its file, on PostgreSQL by a column that was dropped, which `pg_dump` leaves out, and `pg_upgrade`
// does not. Physical copies cannot be told from the original.

/** Whether a database was restored from a backup, and what follows from that has not been done. */
export async function isUnfinishedRestore(on: Executor): Promise<boolean> {
  const mark =
    on.dialect === 'postgres'
      ? "SELECT 1 AS mark FROM pg_attribute WHERE attrelid = CAST('restore_guard' AS regclass) AND attisdropped"
      : 'SELECT 1 AS mark FROM restore_guard';
  return (await on.run(mark, [])).length === 0;
}

/** Says that everything that follows from a restore has been done. */
export async function markRestoreFinished(tx: Executor): Promise<void> {
  const statements =
    tx.dialect === 'postgres'
      ? [
          'ALTER TABLE restore_guard ADD COLUMN original boolean',
          'ALTER TABLE restore_guard DROP COLUMN original',
        ]
      : [removeRestoreGuard, 'INSERT INTO restore_guard VALUES (0)'];
  for (const statement of statements) await tx.run(statement, []);
}

/** Makes a SQLite file one that `finish-restore` must run on before it is used. */
export const removeRestoreGuard = 'DELETE FROM restore_guard';
