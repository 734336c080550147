import { readConfig } from './config.ts';
import { exitStatus } from './exit.ts';
import { run } from './program.ts';
import { closedStream, isStdoutClosed, standardStream } from './standard-streams.ts';

/** Time for a command to end by itself, such as a login that cancels its code. Some terminals send a second signal with the first. */
const graceMs = 3_000;

const controller = new AbortController();
let abortedAt = Number.POSITIVE_INFINITY;
let handleSignal = (_: NodeJS.Signals): void => {
  if (performance.now() - abortedAt > graceMs) process.exit(exitStatus.interrupted);
  abortedAt = Math.min(abortedAt, performance.now());
  controller.abort();
};
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => handleSignal(name));

const status = await run({
  args: process.argv.slice(2),
  config: readConfig(),
  stdin: () => process.stdin,
  stdout: isStdoutClosed() ? closedStream : standardStream(process.stdout),
  stderr: standardStream(process.stderr),
  signal: controller.signal,
  takeSignals: (handler) => {
    handleSignal = handler;
  },
  signalGroup: (leader, signal) => {
    try {
      process.kill(-leader, signal);
    } catch {
      // It has just ended.
    }
  },
});
process.exit(status);
