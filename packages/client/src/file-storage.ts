import { createHash, randomBytes } from 'node:crypto';
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
import { type CredentialDocument, emptyDocument, type Storage } from './credentials.ts';
import { corrupt, documentLimitBytes, formatDocument, parseDocument } from './document.ts';
import { LatchkeyError } from './errors.ts';
import { withProcessLock } from './process-lock.ts';
import { storageFailed, systemCode } from './store-failure.ts';

/** What was open to others, in a sentence. Where mending failed, it still is. */
export interface StorageDefect {
  readonly what: string;
  readonly mended: boolean;
}

export interface FileCheck {
  /** Where the credentials really lie, symbolic links followed. */
  readonly path: string;
  readonly exists: boolean;
  /** As found, before anything was mended; `unknown` where the system has no such modes. */
  readonly readableBy: 'owner' | 'group' | 'everyone' | 'unknown';
  readonly findings: readonly StorageDefect[];
}

export interface FileStorage extends Storage {
  /** Looks at the modes of file and directory, and mends what is open to others. */
  check(): Promise<FileCheck>;
}

/** A temporary file this old was left by a process that died. */
export const staleTemporarySeconds = 600;
const maxLinkChain = 40;
const fileMode = 0o600;
const directoryMode = 0o700;
const stickyBit = 0o1000;

/**
 * Keeps the credentials in a file of mode 0600. The directory of `path` is taken to be for it alone: it is made,
 * and kept, 0700. What lies in a directory or file of another user is refused. A symbolic link stays one, and
 * who comes by another path to the same file shares its locks, which lie beside it.
 */
export function fileStorage(path: string): FileStorage {
  const ownDirectory = dirname(resolve(path));

  /** The real file, its own directory being there. */
  const prepare = async (): Promise<string> => {
    try {
      await mkdir(ownDirectory, { recursive: true, mode: directoryMode });
    } catch (error) {
      throw storageFailed(`The directory ${ownDirectory} cannot be made`, error);
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
      // What cannot be understood is not overwritten.
      await readDocument(file);
      await removeStaleTemporaries(file);
      await replaceFile(file, text);
    },
    lock: async (name, work, options) => {
      const hash = createHash('sha256').update(name).digest('hex').slice(0, 16);
      return withProcessLock(`${await prepare()}.${hash}.lock`, work, options);
    },
    check: async () => {
      const file = await followLinks(path);
      const [directoryBefore, fileBefore] = [await modeOf(dirname(file)), await modeOf(file)];
      const findings = await restrictAccess(ownDirectory, file);
      const readableBy = readers(directoryBefore ?? directoryMode, fileBefore ?? fileMode);
      return { path: file, exists: fileBefore !== undefined, readableBy, findings };
    },
  };
}

/** Where the file is, or would be made: through links to it, also ones that lead to nothing yet, and through links above it. */
async function followLinks(path: string): Promise<string> {
  let file = resolve(path);
  for (let links = 0; ; links++) {
    file = join(await realpath(dirname(file)).catch(() => dirname(file)), basename(file));
    const target = await readlink(file).catch(() => undefined);
    if (target === undefined) return file;
    if (links === maxLinkChain) {
      throw new LatchkeyError('store_failed', `${path} is a symbolic link that leads nowhere.`);
    }
    file = resolve(dirname(file), target);
  }
}

/**
 * Takes from others what they may do with the directory and the file.
 * @throws {LatchkeyError} `store_failed` where one belongs to another user, or others may write to a directory
 * that is not ours to change
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
    const found = await statIfThere(place);
    if (!found) continue;
    const isFile = place === file;
    // Root could read and change everything anyway.
    if (found.uid !== uid && found.uid !== 0) {
      const advice = uid === 0 ? 'Do this as that user.' : 'Change its owner, or use another place.';
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
      findings.push({ what: `The ${kind} ${place} was open to others (mode ${octal}).`, mended });
      if (mended) continue;
    }
    if ((found.mode & 0o022) !== 0 && !isFile && !shared) {
      throw new LatchkeyError(
        'store_failed',
        `Others may write to the directory ${place}. Use another place.`,
      );
    }
  }
  return findings;
}

async function statIfThere(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw storageFailed(`${path} cannot be looked at`, error);
  }
}

const modeOf = async (path: string): Promise<number | undefined> => (await statIfThere(path))?.mode;

function readers(directory: number, file: number): FileCheck['readableBy'] {
  if (process.getuid === undefined) return 'unknown';
  if ((file & 0o004) !== 0 && (directory & 0o001) !== 0) return 'everyone';
  return (file & 0o040) !== 0 && (directory & 0o010) !== 0 ? 'group' : 'owner';
}

async function readDocument(file: string): Promise<CredentialDocument> {
  const where = `the file ${file}`;
  let text: string | undefined;
  try {
    text = await readBounded(file, where);
  } catch (error) {
    throw error instanceof LatchkeyError ? error : storageFailed(`The file ${file} cannot be read`, error);
  }
  // An empty file holds no login that could be lost.
  return text?.trim() ? parseDocument(text, where) : emptyDocument;
}

async function readBounded(file: string, where: string): Promise<string | undefined> {
  let handle: FileHandle;
  try {
    // A pipe in its place would otherwise keep us waiting for its other end.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    handle = await open(file, flags);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new LatchkeyError('store_failed', `${file} is no regular file.`);
    if (found.size > documentLimitBytes) {
      throw corrupt(where, `it is longer than ${documentLimitBytes} bytes`);
    }
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** All or nothing, and on the disk when it resolves: a new file, flushed, takes the old one's name. */
async function replaceFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    const handle = await open(temporary, 'wx', fileMode);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
    await syncDirectory(dirname(file));
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw storageFailed(`The file ${file} cannot be written`, error);
  }
}

async function syncDirectory(directory: string): Promise<void> {
  // Windows opens no directories, and keeps renames in order by itself.
  if (process.platform === 'win32') return;
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Of processes that were killed between making and renaming one. What cannot be removed does no harm. */
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
