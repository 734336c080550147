import { readConfig } from './config.ts';
import { exitStatus } from './exit.ts';
import { run } from './program.ts';

const controller = new AbortController();
process.on('SIGINT', () => {
  if (controller.signal.aborted) process.exit(exitStatus.interrupted);
  controller.abort();
});
// Each write hears of its own failure; without a listener this would be an uncaught one, too.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

const status = await run({
  args: process.argv.slice(2),
  config: readConfig(),
  stdout: process.stdout,
  stderr: process.stderr,
  signal: controller.signal,
});
process.exit(status);
