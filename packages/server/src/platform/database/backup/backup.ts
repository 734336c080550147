import { randomUUID } from 'node:crypto';
import { createWriteStream, lstatSync, rmSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { KeyRing } from '../../crypto/key-ring.ts';
import { chunksOf } from '../../values/lines.ts';
import { migrationNames } from '../migrate.ts';
import { BackupError, backupLines, type RowCounts } from './format.ts';
import { type Snapshot, withSnapshot } from './snapshot.ts';

export interface BackupOptions {
  readonly url: string;
  readonly file: string;
  /** Replaces an existing file. */
  readonly force: boolean;
  readonly keys: KeyRing;
  readonly release: string;
  readonly now: number;
}

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** A program that a signal ends has this status plus the number of the signal. */
const signalExitStatus = 128;

/**
 * Writes a consistent snapshot of a database with the current schema to a file, compressed if its name ends in
 * `.gz`. The file appears under its name when it is complete and on the disk, readable by its owner only.
 * @throws {BackupError} if the file exists, or is no regular file
 */
export async function writeBackup(options: BackupOptions): Promise<RowCounts> {
  const { url, file, force } = options;
  requireWritable(file, force);
  const temporary = `${file}.${randomUUID()}.tmp`;
  const removeAtSignal = (signal: NodeJS.Signals): void => {
    rmSync(temporary, { force: true });
    process.exit(signalExitStatus + constants.signals[signal]);
  };
  for (const signal of signals) process.once(signal, removeAtSignal);
  try {
    const counts = await withSnapshot(url, (snapshot) => writeSnapshot(snapshot, temporary, options));
    await sync(temporary);
    if (force) await rename(temporary, file);
    else await linkNew(temporary, file);
    return counts;
  } finally {
    for (const signal of signals) process.off(signal, removeAtSignal);
    await rm(temporary, { force: true });
    await sync(dirname(file)).catch(() => undefined);
  }
}

/** A link, a pipe or a device would be replaced, not written to. */
function requireWritable(file: string, force: boolean): void {
  if (file === '-') throw new BackupError('a backup is written to a file, not to standard output');
  const existing = lstatSync(file, { throwIfNoEntry: false });
  if (existing && !existing.isFile()) throw new BackupError('it exists and is not a regular file');
  if (existing && !force) throw exists();
}

const exists = (): BackupError => new BackupError('the file exists; use --force to replace it');

/** Gives the file its name unless that is taken. */
const linkNew = (temporary: string, file: string): Promise<void> =>
  link(temporary, file).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? exists() : error;
  });

async function writeSnapshot(
  snapshot: Snapshot,
  path: string,
  { file, keys, release, now }: BackupOptions,
): Promise<RowCounts> {
  if (!migrationNames.includes(snapshot.schema)) {
    throw new BackupError(
      'the database was written by a newer release of Latchkey; back it up with that one',
    );
  }
  const counts: Record<string, number> = {};
  const start = {
    release,
    schema: snapshot.schema,
    created_at: new Date(now).toISOString(),
    feed_position: snapshot.feedPosition,
    event_position: snapshot.eventPosition,
  };
  const lines = backupLines(start, snapshot.rows(), keys, counts);
  const source = Readable.from(chunksOf(lines), { objectMode: false });
  const target = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  if (file.endsWith('.gz')) await pipeline(source, createGzip(), target);
  else await pipeline(source, target);
  return counts;
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
