import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { systemClock } from './clock.ts';
import { systemCode } from './storage/store-failure.ts';

/** Longer than any token or policy. */
const maxBytes = 64 * 1024;
/** Of the other end of a pipe. */
const timeoutMs = 20_000;
const pauseMs = 20;
/** Pipes that this process inherited: their writer is there, or will never be. */
const inherited = /^\/(?:dev\/(?:fd\/|stdin$)|proc\/)/;

/** Its message is what a sentence says about the file. */
export class EndlessFileError extends Error {}

/**
 * The text of a file or pipe, such as `<(command)` of a shell.
 * @throws {EndlessFileError} if it is longer than 64 KiB or does not end
 * @throws {LatchkeyError} `aborted`; any other error if it cannot be read
 */
export async function readSmallFile(file: string, signal?: AbortSignal): Promise<string> {
  // A pipe that nothing writes to would block the thread, and with Node even the end of the program.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return await readToEnd(handle, inherited.test(file), signal);
  } finally {
    await handle.close();
  }
}

async function readToEnd(
  handle: FileHandle,
  isInherited: boolean,
  signal: AbortSignal | undefined,
): Promise<string> {
  const buffer = Buffer.alloc(maxBytes + 1);
  // The writer of a named pipe may not have opened it yet.
  let isWritten = isInherited || !(await handle.stat()).isFIFO();
  const startedAt = performance.now();
  let length = 0;
  while (length <= maxBytes && performance.now() - startedAt < timeoutMs) {
    const read = await handle.read(buffer, length, buffer.length - length, null).catch((error: unknown) => {
      if (systemCode(error) !== 'EAGAIN') throw error;
    });
    if (read?.bytesRead === 0 && isWritten) return buffer.toString('utf8', 0, length);
    // While a pipe has no writer, it ends instead.
    if (read?.bytesRead !== 0) isWritten = true;
    if (read?.bytesRead) length += read.bytesRead;
    else await systemClock.sleep(pauseMs, signal);
  }
  throw new EndlessFileError(
    length > maxBytes ? 'is longer than 64 KiB' : `did not end within ${timeoutMs / 1000} seconds`,
  );
}
