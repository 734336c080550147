import type { Executor } from './executor.ts';

// The one row of `restore_guard` says that a database is not a copy that was restored, or that `finish-restore` has run on it.
// `backup` leaves the row out of its copy. What `pg_restore` inserts has another transaction in `xmin` than the row names. Physical
// copies cannot be told from the original.

/** Whether a database was restored from a backup, and what follows from that has not been done. */
export async function isUnfinishedRestore(on: Executor): Promise<boolean> {
  const isOriginal = on.dialect === 'postgres' ? 'written_by = CAST(CAST(xmin AS text) AS bigint)' : 'true';
  const rows = await on.run(`SELECT 1 AS original FROM restore_guard WHERE ${isOriginal}`, []);
  return rows.length === 0;
}

/** Says that everything that follows from a restore has been done. */
export async function markRestoreFinished(tx: Executor): Promise<void> {
  await tx.run('DELETE FROM restore_guard', []);
  const writer =
    tx.dialect === 'postgres' ? 'CAST(CAST(CAST(pg_current_xact_id() AS xid) AS text) AS bigint)' : '0';
  await tx.run(`INSERT INTO restore_guard VALUES (${writer})`, []);
}

/** Makes a SQLite file one that `finish-restore` must run on before it is used. */
export const removeRestoreGuard = 'DELETE FROM restore_guard';
