import { randomUUID } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { KeyRing } from '../../crypto/key-ring.ts';
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

/** How many characters are written at once. */
const chunkLength = 64 * 1024;

/**
 * Writes everything that a database of the schema of this program holds at one moment to a file, compressed if its name ends in
 * `.gz`. The file appears under its name when it is complete and on the disk, readable by its owner only.
 * @throws {BackupError} if the file exists
 */
export async function writeBackup(options: BackupOptions): Promise<RowCounts> {
  const { url, file, force } = options;
  if (!force && existsSync(file)) throw exists();
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    const counts = await withSnapshot(url, (snapshot) => writeSnapshot(snapshot, temporary, options));
    await sync(temporary);
    if (force) await rename(temporary, file);
    else await linkNew(temporary, file);
    return counts;
  } finally {
    await rm(temporary, { force: true });
    await sync(dirname(file)).catch(() => undefined);
  }
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
  let counts: RowCounts = {};
  const start = {
    release,
    schema: migrationNames.at(-1)!,
    created_at: new Date(now).toISOString(),
    feed_position: snapshot.feedPosition,
    event_position: snapshot.eventPosition,
  };
  const lines = backupLines(start, snapshot.rows(), keys, (counted) => {
    counts = counted;
  });
  const source = Readable.from(inChunks(lines), { objectMode: false });
  const target = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  if (file.endsWith('.gz')) await pipeline(source, createGzip(), target);
  else await pipeline(source, target);
  return counts;
}

async function* inChunks(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let chunk = '';
  for await (const line of lines) {
    chunk += line;
    if (chunk.length < chunkLength) continue;
    yield Buffer.from(chunk);
    chunk = '';
  }
  yield Buffer.from(chunk);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
