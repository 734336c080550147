import { LatchkeyError } from './errors.ts';

const causes: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied',
  EPERM: 'it is not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the limit of file sizes is reached',
  ENOENT: 'there is no such directory',
  ENOTDIR: 'a part of the path is no directory',
  EISDIR: 'it is a directory',
  ELOOP: 'its symbolic links go in a circle',
  EMFILE: 'too many files are open',
  EIO: 'the disk reports an error',
};

/** The system's short name of what went wrong, like `ENOENT`. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** A `store_failed` for people: what could not be done, and the system's reason in words. */
export function storageFailed(what: string, error: unknown): LatchkeyError {
  const code = systemCode(error);
  const reason = (code && causes[code]) ?? (error instanceof Error ? error.message : String(error));
  return new LatchkeyError('store_failed', `${what}: ${reason}.`, { cause: error });
}
