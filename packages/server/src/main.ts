import type { Command } from 'commander';
import { createContext } from './create-context.ts';
import type { Run } from './operator/commands.ts';
import { claimPort } from './operator/listener.ts';
import { migrateStore, openForCommand, openForService, type Store } from './operator/open-store.ts';
import { write } from './operator/output.ts';
import { createProgram } from './operator/program.ts';
import { serve } from './operator/serve.ts';
import { withKeyIds } from './operator/server-keys.ts';
import { type Config, storeNameOf } from './platform/config/config.ts';
import { ConfigError } from './platform/config/config-error.ts';
import { processEnvironment, readEnvFile } from './platform/config/environment.ts';
import type { Context } from './platform/context.ts';
import { openClock } from './platform/database/clock.ts';
import type { Database } from './platform/database/executor.ts';
import { AuthError } from './platform/errors.ts';
import { createLogger, type Log, written } from './platform/telemetry/log.ts';
import { redact } from './platform/telemetry/redact.ts';
import { systemTimers } from './platform/timers.ts';
import { readConfig } from './settings.ts';

/** The exit status of wrong usage. A command that fails exits with 1. */
const usageExitStatus = 2;

// Files that this process creates are readable by its own user only: the database holds email addresses.
process.umask(0o077);

const program = createProgram({
  readEnvFile,
  serve: runService,
  migrate: runMigrations,
  runOnStore: runnerWith({}),
  runOnRestored: runnerWith({ finishesRestore: true }),
  print,
});
// Commander exits with 0 for help and version only; everything else is wrong usage.
exitWithStatus(program);

try {
  if (process.argv.length === 2) program.help();
  await program.parseAsync(withKeyIds(process.argv));
  process.exit();
} catch (error) {
  process.stderr.write(`latchkey-server: ${messageOf(error)}\n`);
  process.exit(1);
}

/** Subcommands have copied the settings of the program before this one was made. */
function exitWithStatus(command: Command): void {
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : usageExitStatus));
  for (const child of command.commands) exitWithStatus(child);
}

/** `serve`: creates the keys and the database if they are missing, and brings an older database up to date. */
async function runService(): Promise<void> {
  const config = readConfig();
  const log = createLogger(config.logLevel);
  try {
    await claimPort(config);
    const { db, keys } = await openForService(config, log);
    await serve(await openContext(config, log, db, keys), configAtPort);
  } finally {
    await written(log);
  }
}

/** The default of `LATCHKEY_BASE_URL` names the port. */
function configAtPort(port: number): Config {
  return readConfig({ ...processEnvironment, PORT: String(port) });
}

/** `migrate`: creates the database or brings it up to date. */
async function runMigrations(): Promise<void> {
  const config = readConfig();
  await migrateStore(config, createLogger('silent'));
  await print(`${storeNameOf(config)} is up to date.`);
}

/** Makes the action of an operator's command on an existing database, whether or not the service is running. */
function runnerWith(options: { readonly finishesRestore?: boolean }): Run {
  return (work) =>
    async (...received) => {
      const config = readConfig();
      process.stderr.write(`Store: ${storeNameOf(config)}\n`);
      const log = createLogger('silent');
      const { db, keys } = await openForCommand(config, log, options);
      try {
        await print(await work(await openContext(config, log, db, keys), ...received));
      } finally {
        await db.close();
      }
    };
}

async function openContext(config: Config, log: Log, db: Database, keys: Store['keys']): Promise<Context> {
  const timers = systemTimers;
  return createContext({ config, log, db, ...keys, timers, clock: await openClock(db, timers) });
}

async function print(text: string | undefined): Promise<void> {
  if (text) await write(text);
}

/** One sentence for an error that the operator can fix; for a defect, its stack without secrets. */
function messageOf(error: unknown): string {
  if (error instanceof AuthError && error.code === 'temporarily_unavailable' && error.cause instanceof Error)
    return `The database cannot be used: ${redact(error.cause.message)}.`;
  if (error instanceof ConfigError || error instanceof AuthError) return error.message;
  return redact(error instanceof Error ? (error.stack ?? error.message) : String(error));
}
