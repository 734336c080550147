import { optionSentence } from '@latchkey/contract/terminal';
import { CommanderError } from 'commander';
import { createContext } from '../create-context.ts';
import { type Config, storeNameOf } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import type { Environment } from '../platform/config/environment.ts';
import { openClock } from '../platform/database/clock.ts';
import { AuthError } from '../platform/errors.ts';
import { createLogger, type Log, written } from '../platform/telemetry/log.ts';
import { redact } from '../platform/telemetry/redact.ts';
import { systemTimers } from '../platform/timers.ts';
import { readConfig } from '../settings.ts';
import type { CommandIo, Restoring, Run } from './commands.ts';
import { claimPort } from './listener.ts';
import { migrateStore, openForCommand, openForService, type Store } from './open-store.ts';
import { createOutput, type TextStream } from './output.ts';
import { createProgram } from './program.ts';
import { serve } from './serve.ts';
import { withKeyIds } from './server-keys.ts';

/** The exit status of wrong usage. A command that fails exits with 1. */
const usageExitStatus = 2;

export interface CommandProcess {
  /** Without the program name. */
  readonly args: readonly string[];
  readonly env: Environment;
  readonly readEnvFile: (file: string | undefined) => void;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
}

/** Runs one command line and returns its exit status. Reports every error itself; never throws. */
export async function run({ args, env, readEnvFile, stdout, stderr }: CommandProcess): Promise<number> {
  let status = 0;
  const fail = () => {
    status = 1;
  };
  const io: CommandIo = { env, output: createOutput(stdout, stderr), fail };

  /** Makes the action of an operator's command on an existing database, whether or not the service is running. */
  const runnerWith =
    (restoring?: Restoring): Run =>
    (work) =>
    async (...received) => {
      io.output.requireOpen();
      const config = readConfig(env);
      io.output.say(`Store: ${storeNameOf(config)}`);
      const log = createLogger('silent');
      const store = await openForCommand(config, log, io, restoring);
      try {
        const text = await work(await openContext(config, log, store, io), ...received);
        if (text) await io.output.write(text);
      } finally {
        await store.db.close();
      }
    };

  const program = createProgram({
    ...io,
    readEnvFile,
    serve: () => runService(io),
    migrate: () => runMigrations(io),
    runOnStore: runnerWith(),
    runOnRestored: runnerWith,
  });
  try {
    if (args.length === 0) program.help();
    await program.parseAsync(withKeyIds(args), { from: 'user' });
    return status;
  } catch (error) {
    // Commander exits with 0 for help and version only; everything else is wrong usage.
    if (error instanceof CommanderError) {
      // It has printed the whole help.
      if (args[0] === 'help' && error.exitCode !== 0)
        io.output.say(`latchkey-server: Unknown command '${args[1]}'.`);
      return error.exitCode === 0 ? 0 : usageExitStatus;
    }
    io.output.say(`latchkey-server: ${messageOf(error)}`);
    return 1;
  }
}

/** `serve`: creates the keys and the database if they are missing, and brings an older database up to date. */
async function runService(io: CommandIo): Promise<void> {
  const config = readConfig(io.env);
  const log = createLogger(config.logLevel);
  try {
    await claimPort(config);
    const ctx = await openContext(config, log, await openForService(config, log, io), io);
    // The default of `LATCHKEY_BASE_URL` names the port.
    await serve(ctx, (port) => readConfig({ ...io.env, PORT: String(port) }));
  } finally {
    await written(log);
  }
}

async function runMigrations(io: CommandIo): Promise<void> {
  const config = readConfig(io.env);
  await migrateStore(config, createLogger('silent'), io);
  await io.output.write(`${storeNameOf(config)} is up to date.`);
}

async function openContext(config: Config, log: Log, { db, keys }: Store, io: CommandIo) {
  const timers = systemTimers;
  return {
    ...createContext({ config, log, db, ...keys, timers, clock: await openClock(db, timers) }),
    ...io,
  };
}

/** One sentence for an error that the operator can fix; for a defect, its stack without secrets. */
function messageOf(error: unknown): string {
  if (error instanceof AuthError && error.code === 'temporarily_unavailable' && error.cause instanceof Error)
    return `The database cannot be used: ${redact(error.cause.message)}.`;
  if (error instanceof ConfigError || error instanceof AuthError) return optionSentence(error.message);
  return redact(error instanceof Error ? (error.stack ?? error.message) : String(error));
}
