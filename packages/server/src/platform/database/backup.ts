import { Database as Connection } from 'bun:sqlite';
import { randomUUID } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { removeRestoreGuard } from './restore-guard.ts';
import { asStoreError, whenFree } from './sqlite.ts';

/** How long another process may keep the file busy, for example to recover it. */
const busyDeadlineMs = 5_000;

/**
 * Writes a copy of a SQLite database at one moment, while others read and write it. The copy appears under its name when it is complete
 * and on the disk, readable by its owner only, and is marked as one that `finish-restore` must run on.
 * @throws {Error} of the file system: `EEXIST` if the file exists
 */
export async function backUpSqlite(path: string, file: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  await (await open(temporary, 'wx', 0o600)).close();
  try {
    const source = await whenFree(busyDeadlineMs, () => new Connection(path, { readonly: true }));
    try {
      await whenFree(busyDeadlineMs, () => source.query('VACUUM INTO ?').run(temporary));
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
