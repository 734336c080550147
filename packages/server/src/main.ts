import { run } from './operator/run.ts';
import { processEnvironment, readEnvFile } from './platform/config/environment.ts';

// Files that this process creates are readable by its own user only: the database holds email addresses.
process.umask(0o077);
// What cannot be written is reported to who writes it.
process.stdout.on('error', () => undefined);

process.exit(
  await run({
    args: process.argv.slice(2),
    env: processEnvironment,
    readEnvFile,
    stdout: process.stdout,
    stderr: process.stderr,
  }),
);
