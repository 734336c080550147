import { readFileSync, readlinkSync } from 'node:fs';
import type { TextStream } from './output.ts';

/** The runtime's stream. Every write reports its own failure; without a listener it would also be an uncaught exception. */
export const standardStream = (stream: NodeJS.WriteStream): TextStream => stream.on('error', () => {});

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
