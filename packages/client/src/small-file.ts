import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { systemClock } from './clock.ts';
import { systemCode } from './storage/store-failure.ts';

/** Longer than any token or policy. */
const maxBytes = 64 * 1024;
/** Of the other end of a pipe. */
const timeoutMs = 20_000;
const pauseMs = 20;

/**
 * The text of a file or pipe, such as `<(command)` of a shell.
 * @throws {LatchkeyError} `aborted`; any other error if it cannot be read, is longer than 64 KiB or does not end
 */
export async function readSmallFile(file: string, signal?: AbortSignal): Promise<string> {
  // A pipe that nothing writes to would block the thread, and with Node even the end of the program.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return await readToEnd(handle, signal);
  } finally {
    await handle.close();
  }
}

async function readToEnd(handle: FileHandle, signal: AbortSignal | undefined): Promise<string> {
  const buffer = Buffer.alloc(maxBytes + 1);
  const isPipe = (await handle.stat()).isFIFO();
  const startedAt = performance.now();
  let length = 0;
  while (length <= maxBytes && performance.now() - startedAt < timeoutMs) {
    const read = await handle.read(buffer, length, buffer.length - length, null).catch((error: unknown) => {
      if (systemCode(error) !== 'EAGAIN') throw error;
    });
    if (read?.bytesRead) length += read.bytesRead;
    // The writer of an empty pipe may not have opened it yet.
    else if (read && (length > 0 || !isPipe)) return buffer.toString('utf8', 0, length);
    else await systemClock.sleep(pauseMs, signal);
  }
  throw new Error('it is too long, or does not end');
}
