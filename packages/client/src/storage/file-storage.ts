import { constants } from 'node:fs';
import {
  chmod,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  stat,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type CredentialDocument, emptyDocument, type Storage } from '../credentials.ts';
import { LatchkeyError } from '../errors.ts';
import { corrupt, documentLimitBytes, formatDocument, parseDocument } from './document.ts';
import { storageFailed, systemCode } from './store-failure.ts';

/** What was accessible to others, in a sentence; it still is if `mended` is false. */
export interface StorageDefect {
  readonly what: string;
  readonly mended: boolean;
}

export interface FileCheck {
  /** The real path of the credentials, with symbolic links resolved. */
  readonly path: string;
  readonly exists: boolean;
  /** As found, before any fix; `unknown` on systems without file modes. */
  readonly readableBy: 'owner' | 'group' | 'everyone' | 'unknown';
  readonly findings: readonly StorageDefect[];
}

export interface FileStorage extends Storage {
  /** Checks the modes of file and directory, and fixes those that let others in. */
  check(): Promise<FileCheck>;
}

/** A temporary file of this age was left by a process that died. */
export const staleTemporarySeconds = 600;
const maxLinkChain = 40;
const fileMode = 0o600;
const directoryMode = 0o700;
const stickyBit = 0o1000;

/**
 * Keeps the credentials in a file of mode 0600. The directory of `path` is reserved for it and kept at 0700. Files
 * and directories of other users are refused. A symbolic link is kept, and its target is written. Lock files are
 * created next to the real file, so every path to it shares them.
 * @example
 * const storage = fileStorage(join(homedir(), '.config', 'projects', 'credentials.json'));
 */
export function fileStorage(path: string): FileStorage {
  const ownDirectory = dirname(resolve(path));

  /** Creates the directory and returns the real path of the file. */
  const prepare = async (): Promise<string> => {
    try {
      await mkdir(ownDirectory, { recursive: true, mode: directoryMode });
    } catch (error) {
      throw storageFailed(`The directory ${ownDirectory} cannot be created`, error);
    }
    const file = await followLinks(path);
    await restrictAccess(ownDirectory, file);
    return file;
  };

  return {
    description: `the file ${path}`,
    read: async () => {
      const file = await followLinks(path);
      await restrictAccess(ownDirectory, file);
      return readDocument(file);
    },
    write: async (document) => {
      const text = formatDocument(document);
      const file = await prepare();
      // Throws if the stored document is damaged, so that it is not overwritten.
      await readDocument(file);
      await removeStaleTemporaries(file);
      await replaceFile(file, text);
    },
    lock: async (name, work, options) => {
      // Loaded here, because reading does not need it and loading it takes longer.
      const { lockFile, withProcessLock } = await import('./process-lock.ts');
      return withProcessLock(lockFile(await prepare(), name), work, options);
    },
    check: async () => {
      const file = await followLinks(path);
      const [directoryBefore, fileBefore] = [await statIfExists(dirname(file)), await statIfExists(file)];
      const findings = await restrictAccess(ownDirectory, file);
      const readableBy = readers(directoryBefore?.mode ?? directoryMode, fileBefore?.mode ?? fileMode);
      return { path: file, exists: fileBefore !== undefined, readableBy, findings };
    },
  };
}

/** The real path of the file, even if it does not exist yet: resolves links to it and to its directories. */
async function followLinks(path: string): Promise<string> {
  let file = resolve(path);
  for (let links = 0; ; links++) {
    file = join(await realpath(dirname(file)).catch(() => dirname(file)), basename(file));
    const target = await readlink(file).catch(() => undefined);
    if (target === undefined) return file;
    if (links === maxLinkChain) {
      throw new LatchkeyError('store_failed', `${path} is a symbolic link that leads nowhere.`, {
        obstacle: 'path',
      });
    }
    file = resolve(dirname(file), target);
  }
}

/**
 * Removes other users' access to the directories and the file, and reports what it found.
 * @throws {LatchkeyError} `store_failed` if one belongs to another user, or if others can write to a directory whose
 * mode cannot be changed
 */
async function restrictAccess(ownDirectory: string, file: string): Promise<StorageDefect[]> {
  const findings: StorageDefect[] = [];
  const uid = process.getuid?.();
  if (uid === undefined) return findings;
  const places = [
    { place: ownDirectory, mode: directoryMode },
    ...(dirname(file) === (await realpath(ownDirectory).catch(() => ownDirectory))
      ? []
      : [{ place: dirname(file), mode: undefined }]),
    { place: file, mode: fileMode },
  ];
  for (const { place, mode } of places) {
    const found = await statIfExists(place);
    if (!found) continue;
    const isFile = place === file;
    // Root can read and change everything anyway.
    if (found.uid !== uid && found.uid !== 0) {
      const advice = uid === 0 ? 'Run the command as that user.' : 'Change its owner, or use another path.';
      throw new LatchkeyError('store_failed', `${place} belongs to another user. ${advice}`);
    }
    const shared = (found.mode & stickyBit) !== 0;
    if (mode !== undefined && found.uid === uid && (found.mode & 0o077) !== 0 && !shared) {
      const mended = await chmod(place, mode).then(
        () => true,
        () => false,
      );
      const kind = isFile ? 'file' : 'directory';
      const octal = (found.mode & 0o777).toString(8).padStart(4, '0');
      findings.push({ what: `The ${kind} ${place} was accessible to others (mode ${octal}).`, mended });
      if (mended) continue;
    }
    if ((found.mode & 0o022) !== 0 && !isFile && !shared) {
      throw new LatchkeyError(
        'store_failed',
        `Other users can write to the directory ${place}. Use another path.`,
      );
    }
  }
  return findings;
}

async function statIfExists(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw storageFailed(`${path} cannot be read`, error);
  }
}

function readers(directory: number, file: number): FileCheck['readableBy'] {
  if (process.getuid === undefined) return 'unknown';
  if ((file & 0o004) !== 0 && (directory & 0o001) !== 0) return 'everyone';
  return (file & 0o040) !== 0 && (directory & 0o010) !== 0 ? 'group' : 'owner';
}

async function readDocument(file: string): Promise<CredentialDocument> {
  const where = `the file ${file}`;
  // Opening a named pipe would otherwise block until its other end is opened.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  try {
    const text = await withFile(file, flags, async (handle) => {
      const found = await handle.stat();
      if (!found.isFile()) {
        throw new LatchkeyError('store_failed', `${file} is not a regular file.`, { obstacle: 'path' });
      }
      if (found.size > documentLimitBytes) throw corrupt(where, `more than ${documentLimitBytes} bytes`);
      return handle.readFile('utf8');
    });
    // An empty file contains no login that could be lost.
    return text.trim() ? parseDocument(text, where) : emptyDocument;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return emptyDocument;
    throw error instanceof LatchkeyError ? error : storageFailed(`The file ${file} cannot be read`, error);
  }
}

/** Atomic, and on the disk once it resolves: writes and flushes a new file, then renames it over the old one. */
async function replaceFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.${crypto.randomUUID()}.tmp`;
  try {
    await withFile(temporary, 'wx', async (handle) => {
      await handle.writeFile(text);
      await handle.sync();
    });
    await rename(temporary, file);
    // Windows cannot open directories, and keeps renames in order by itself.
    if (process.platform !== 'win32') await withFile(dirname(file), 'r', (directory) => directory.sync());
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw storageFailed(`The file ${file} cannot be written`, error);
  }
}

async function withFile<T>(path: string, flags: string | number, work: (handle: FileHandle) => Promise<T>) {
  const handle = await open(path, flags, fileMode);
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

/** Left by processes that were killed before renaming. One that cannot be removed does no harm. */
async function removeStaleTemporaries(file: string): Promise<void> {
  const names = await readdir(dirname(file)).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(`${basename(file)}.`) || !name.endsWith('.tmp')) continue;
    const temporary = join(dirname(file), name);
    const found = await stat(temporary).catch(() => undefined);
    if (found && found.mtimeMs < Date.now() - staleTemporarySeconds * 1000) {
      await unlink(temporary).catch(() => {});
    }
  }
}
