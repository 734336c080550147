import { readFileSync, readlinkSync } from 'node:fs';
import { isOpenedHere } from '@latchkey/contract/terminal';
import type { TextStream } from './output.ts';

/** The runtime's stream. Every write reports its own failure; without a listener it would also be an uncaught exception. */
export const standardStream = (stream: NodeJS.WriteStream): TextStream => stream.on('error', () => {});

/** Stands in for a standard output that was closed before the program started. */
export const closedStream: TextStream = {
  write: (_, done) => done(new Error('standard output is closed')),
};

/** Whether the caller closed standard output: results would seem to be written. Node cannot tell. */
export function isStdoutClosed(): boolean {
  if (process.versions.bun === undefined) return false;
  try {
    const isDiscarded = readlinkSync('/proc/self/fd/1') === '/dev/null';
    return isDiscarded && isOpenedHere(readFileSync('/proc/self/fdinfo/1', 'utf8'));
  } catch {
    // Only Linux tells.
    return false;
  }
}
