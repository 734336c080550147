import { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { type Config, ConfigError, hasGivenKeys, readConfig, readKeys } from './config.ts';
import type { Context } from './context.ts';
import { systemRandom } from './crypto/random.ts';
import { openDatabase } from './database/database.ts';
import { AuthError } from './errors.ts';
import { createLogger, redact } from './http/log.ts';
import { createLimiter } from './limits/limiter.ts';
import { createMetrics } from './metrics/metrics.ts';
import { doctorCommand } from './operator/doctor.ts';
import { eventCommands } from './operator/events.ts';
import { organizationCommands } from './operator/organizations.ts';
import { outboxCommand } from './operator/outbox.ts';
import { serve } from './operator/serve.ts';
import { serviceCommands } from './operator/services.ts';
import { userCommands } from './operator/users.ts';

/** The exit status of a command that was not understood; of one that failed it is 1. */
const wrongUsage = 2;

// What it makes is for nobody else on the machine: the store holds addresses.
process.umask(0o077);

const print = (text: string): void => void (text !== '' && process.stdout.write(`${text}\n`));

async function openContext(config: Config, logLevel: string): Promise<Context> {
  const log = createLogger(logLevel);
  const keys = readKeys(config);
  const db = await openDatabase(config.databaseUrl, { log }).catch((error: Error) => {
    throw new ConfigError(`DATABASE_URL cannot be opened: ${redact(error.message)}.`);
  });
  const metrics = createMetrics();
  const limiter = createLimiter({ config, db, metrics });
  return {
    config,
    keys,
    db,
    log,
    metrics,
    limiter,
    clock: Date.now,
    random: systemRandom,
    wakeMailWorker: () => undefined,
  };
}

/** Runs one command of the operator on the settings of the service, beside it or without it. */
async function run(work: (ctx: Context) => Promise<string>): Promise<void> {
  const ctx = await openContext(readConfig(), 'silent');
  try {
    print(await work(ctx));
  } finally {
    await ctx.db.close();
  }
}

const program = new Command('latchkey-server')
  .description(
    'The Latchkey service and its operator’s commands. Settings come from the environment and .env.',
  )
  .version(manifest.version)
  .showHelpAfterError()
  // Every other end than help or version is wrong usage.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : wrongUsage));

program
  .command('serve')
  .description('run the service')
  .action(async () => {
    const ctx = await openContext(readConfig(), 'info');
    await serve(ctx);
    await new Promise<void>((resolve) => ctx.log.flush(() => resolve()));
  });
userCommands(program, run);
organizationCommands(program, run);
outboxCommand(program, run);
eventCommands(program, run);
doctorCommand(program, print, hasGivenKeys);
serviceCommands(program, run);

try {
  if (process.argv.length === 2) program.help();
  await program.parseAsync();
  process.exit();
} catch (error) {
  const expected = error instanceof ConfigError || error instanceof AuthError;
  process.stderr.write(
    `latchkey-server: ${expected ? error.message : redact(error instanceof Error ? (error.stack ?? error.message) : String(error))}\n`,
  );
  process.exit(1);
}
