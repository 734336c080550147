// Standard output and error without the runtime's own streams where a write can do: loading those takes longer than all the rest
// of a command that only reads what is stored.

import { fstatSync, readFileSync, readlinkSync, writeSync } from 'node:fs';
import type { TextStream } from './output.ts';

/** A stream that reports every failure to the writer. `load` returns the runtime's own stream, which a terminal needs. */
export function standardStream(descriptor: 1 | 2, load: () => NodeJS.WriteStream): TextStream {
  let loaded: NodeJS.WriteStream | undefined;
  const own = (): NodeJS.WriteStream => {
    // Every write reports its own failure; without a listener it would also be an uncaught exception.
    loaded ??= load().on('error', () => {});
    return loaded;
  };
  if (!isPlain(descriptor)) {
    return {
      get isTTY() {
        return own().isTTY;
      },
      get columns() {
        return own().columns;
      },
      write: (text, done) => own().write(text, done),
    };
  }
  return {
    write: (text, done) => {
      if (loaded) return loaded.write(text, done);
      const rest = writeAtOnce(descriptor, Buffer.from(text), done);
      return rest === undefined || own().write(rest, done);
    },
  };
}

/** Whether it is a file, a pipe or a socket: no terminal, and open. */
function isPlain(descriptor: 1 | 2): boolean {
  try {
    const found = fstatSync(descriptor);
    return found.isFile() || found.isFIFO() || found.isSocket();
  } catch {
    return false;
  }
}

/** Writes, and returns the rest that does not fit into a full non-blocking pipe, whose reader may be slow. */
function writeAtOnce(
  descriptor: 1 | 2,
  bytes: Buffer,
  done: (error?: Error | null) => void,
): Buffer | undefined {
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(descriptor, bytes, written);
    done();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return bytes.subarray(written);
    done(error as Error);
  }
  return undefined;
}

/** Stands in for a standard output that was closed before the program started. */
export const closedStream: TextStream = {
  write: (_, done) => done(new Error('standard output is closed')),
};

/**
 * Whether the caller closed standard output (`>&-`). The runtime then opens /dev/null in its place, and every result
 * would seem to be written. Only a descriptor opened by this process is close-on-exec; Node makes all of them so, and cannot tell.
 */
export function isStdoutClosed(): boolean {
  if (process.versions.bun === undefined) return false;
  const closeOnExec = 0o2000000;
  try {
    if (readlinkSync('/proc/self/fd/1') !== '/dev/null') return false;
    const [, flags = ''] = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/1', 'utf8')) ?? [];
    return (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // Only Linux tells.
    return false;
  }
}
