// A lock across processes that the kernel releases when its owner dies, however it dies. It is the lock of an
// SQLite database in which nothing is ever stored: SQLite can lock a file on every system, also between two parts
// of one process, and comes with Bun and Node.

import { createHash } from 'node:crypto';
import { accessSync, constants, lstatSync, truncateSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { aborted, systemClock } from '../clock.ts';
import type { LockOptions } from '../credentials.ts';
import { LatchkeyError } from '../errors.ts';
import { storageFailed, systemCode } from './store-failure.ts';

export const lockTimeoutMs = 10_000;
/** Pauses between tries double from the first to the maximum, with a random jitter of half a pause. */
const firstPauseMs = 2;
const maxPauseMs = 50;

/** Primary result codes of SQLite. @see https://www.sqlite.org/rescode.html */
const sqliteBusy = 5;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;

/** The file of a lock, whatever characters its name has. */
export const lockFile = (prefix: string, name: string): string =>
  `${prefix}.${createHash('sha256').update(name).digest('hex').slice(0, 16)}.lock`;

/**
 * Runs the work while holding the lock of this file, across all processes. Creates the file if it is missing (0600,
 * empty); its directory must exist. An owner that is only suspended keeps the lock.
 * @throws {LatchkeyError} `lock_timeout`, `aborted`, `store_failed` (the file cannot be created); the work has not
 * started then
 */
export async function withProcessLock<T>(
  file: string,
  work: () => Promise<T>,
  { signal, timeoutMs = lockTimeoutMs }: LockOptions = {},
): Promise<T> {
  if (signal?.aborted) throw aborted(signal);
  const deadline = performance.now() + timeoutMs;
  let held = tryLock(file);
  for (let pause = firstPauseMs; !held; pause = Math.min(pause * 2, maxPauseMs)) {
    if (performance.now() >= deadline) {
      const waited = `${timeoutMs / 1000} s`;
      throw new LatchkeyError('lock_timeout', `Another process has held ${file} for more than ${waited}.`);
    }
    await systemClock.sleep(pause * (0.5 + Math.random() / 2), signal);
    held = tryLock(file);
  }
  try {
    return await work();
  } finally {
    held.close();
  }
}

/** The connection that holds SQLite's lock until it is closed, or undefined if that is taken. */
function tryLock(file: string): DatabaseSync | undefined {
  const { DatabaseSync } = loadSqlite();
  try {
    ensureLockFile(file);
  } catch (error) {
    throw storageFailed(`The lock file ${file} cannot be used`, error);
  }
  let connection: DatabaseSync | undefined;
  try {
    connection = new DatabaseSync(file);
    // No journal file: a killed process leaves nothing behind, and the lock works on a full disk.
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return connection;
  } catch (error) {
    connection?.close();
    const code = primaryCodeOf(error);
    if (code === sqliteBusy) return undefined;
    if (code === sqliteNotADatabase || code === sqliteCorrupt) return emptyLockFile(file);
    throw storageFailed(`The lock file ${file} cannot be used`, error);
  }
}

/** Creates the file with its mode, or throws: SQLite would open a read-only file and take no lock at all. */
function ensureLockFile(file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    try {
      writeFileSync(file, '', { flag: 'wx', mode: 0o600 });
    } catch (failure) {
      if (systemCode(failure) !== 'EEXIST') throw failure;
    }
  }
}

/** Empties a file with foreign content. It is never replaced, so that all processes lock the same one. */
function emptyLockFile(file: string): undefined {
  try {
    if (!lstatSync(file).isFile()) throw new Error('it is not a regular file');
    truncateSync(file);
  } catch (error) {
    throw storageFailed(`The lock file ${file} cannot be used`, error);
  }
}

const primaryCodeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined;

type Sqlite = typeof import('node:sqlite');

let loaded: Sqlite | undefined;

/**
 * Suppresses the warning that Node 22 prints: standard error belongs to the program.
 * @throws {LatchkeyError} `store_failed` on Node.js before 22.13
 */
function loadSqlite(): Sqlite {
  if (loaded) return loaded;
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    // Synchronous, so that no other warning is suppressed. Earlier versions may lack the function, too.
    loaded = process.getBuiltinModule?.('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
  if (!loaded) {
    throw new LatchkeyError(
      'store_failed',
      `Stored credentials need Node.js 22.13 or later. This is ${process.version}.`,
    );
  }
  return loaded;
}
