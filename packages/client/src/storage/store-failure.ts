import { LatchkeyError, type StorageObstacle } from '../errors.ts';

interface Reason {
  readonly words: string;
  readonly obstacle?: StorageObstacle;
}

const reasons: Readonly<Record<string, Reason>> = {
  EACCES: { words: 'permission denied', obstacle: 'permission' },
  EPERM: { words: 'operation not permitted', obstacle: 'permission' },
  EROFS: { words: 'the file system is read-only', obstacle: 'read_only_file_system' },
  EBUSY: { words: 'it is in use, or mounted as a single file', obstacle: 'mounted_file' },
  ENOSPC: { words: 'the disk is full', obstacle: 'space' },
  EDQUOT: { words: 'the disk quota is used up', obstacle: 'space' },
  EFBIG: { words: 'the file size limit is reached', obstacle: 'space' },
  ENOENT: { words: 'the directory does not exist', obstacle: 'path' },
  ENOTDIR: { words: 'part of the path is not a directory', obstacle: 'path' },
  EISDIR: { words: 'it is a directory', obstacle: 'path' },
  ELOOP: { words: 'too many levels of symbolic links', obstacle: 'path' },
  ECONNRESET: { words: 'it closed the connection' },
  EPIPE: { words: 'it closed the connection' },
  EADDRINUSE: { words: 'it is already in use' },
  EMFILE: { words: 'too many files are open' },
  EIO: { words: 'the disk reported an error' },
};

/** The system's error name, like `ENOENT`. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

const reasonOf = (error: unknown): Reason | undefined => reasons[systemCode(error) ?? ''];

/** Why the system refused, in words where they are known. */
export const systemReason = (error: unknown): string =>
  reasonOf(error)?.words ?? (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');

/** A `store_failed` for people: what could not be done, and why. */
export const storageFailed = (what: string, error: unknown, obstacle?: StorageObstacle): LatchkeyError =>
  new LatchkeyError('store_failed', `${what}: ${systemReason(error)}.`, {
    cause: error,
    obstacle: obstacle ?? reasonOf(error)?.obstacle,
  });
