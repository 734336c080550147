import { readFileSync, readlinkSync } from 'node:fs';
import { readConfig } from './config.ts';
import { exitStatus } from './exit.ts';
import type { TextStream } from './output.ts';
import { run } from './program.ts';

const controller = new AbortController();
process.on('SIGINT', () => {
  if (controller.signal.aborted) process.exit(exitStatus.interrupted);
  controller.abort();
});
// Every write reports its own failure; without a listener it would also be an uncaught exception.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

/** Stands in for a standard output that was closed before the program started. */
const closedStream: TextStream = { write: (_, done) => done(new Error('standard output is closed')) };

/**
 * Whether the caller closed standard output (`>&-`). The runtime then opens /dev/null in its place, and every result
 * would seem to be written. Only a descriptor opened by this process is close-on-exec.
 */
function isStdoutClosed(): boolean {
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

const status = await run({
  args: process.argv.slice(2),
  config: readConfig(),
  stdin: process.stdin,
  stdout: isStdoutClosed() ? closedStream : process.stdout,
  stderr: process.stderr,
  signal: controller.signal,
});
process.exit(status);
