import { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { doctorCommand } from './operator/doctor.ts';
import { eventCommands } from './operator/events.ts';
import { organizationCommands } from './operator/organizations.ts';
import { outboxCommand } from './operator/outbox.ts';
import { requireFreePort, serve } from './operator/serve.ts';
import { serviceCommands } from './operator/services.ts';
import { userCommands } from './operator/users.ts';
import {
  type Config,
  ConfigError,
  hasConfiguredKeys,
  readConfig,
  readEnvFile,
  readKeys,
  readLogKeys,
  storeNameOf,
} from './platform/config.ts';
import type { Context } from './platform/context.ts';
import { systemRandom } from './platform/crypto/random.ts';
import { openDatabase, openExistingDatabase } from './platform/database/database.ts';
import type { Database } from './platform/database/executor.ts';
import { AuthError } from './platform/errors.ts';
import { createRateLimiter } from './platform/rate-limits/limiter.ts';
import { rateLimitNames } from './platform/rate-limits/rules.ts';
import { createLogger, type Log } from './platform/telemetry/log.ts';
import { createMetrics } from './platform/telemetry/metrics.ts';
import { redact } from './platform/telemetry/redact.ts';

/** The exit status of a command that was not understood; of one that failed it is 1. */
const wrongUsage = 2;

// What it makes is for nobody else on the machine: the store holds addresses.
process.umask(0o077);

const print = (text: string): void => void (text !== '' && process.stdout.write(`${text}\n`));

async function opening(db: Promise<Database>): Promise<Database> {
  return db.catch((error: Error) => {
    throw new ConfigError(`DATABASE_URL cannot be opened: ${redact(error.message)}.`);
  });
}

type Keys = Pick<Context, 'keys' | 'logKeys'>;

function keysOf(config: Config, options: { make: boolean }): Keys {
  const keys = readKeys(config, options);
  return { keys, logKeys: readLogKeys(keys) };
}

function contextOf(config: Config, log: Log, db: Database, keys: Keys): Context {
  const metrics = createMetrics(rateLimitNames);
  const limiter = createRateLimiter({
    quotas: config.rateLimitsEnabled ? config.rateLimitQuotas : undefined,
    db,
    metrics,
  });
  return {
    config,
    ...keys,
    db,
    log,
    metrics,
    limiter,
    clock: Date.now,
    random: systemRandom,
    wakeMailWorker: () => undefined,
  };
}

/** For the service: makes the key and the store where there are none, and brings an older store up to date. */
async function openForService(config: Config): Promise<Context> {
  const log = createLogger('info');
  const keys = keysOf(config, { make: true });
  return contextOf(config, log, await opening(openDatabase(config.databaseUrl, { log })), keys);
}

/** Runs one command of the operator on the store of the service, which must be there, while it runs or not. */
async function run(work: (ctx: Context) => Promise<string>): Promise<void> {
  const config = readConfig();
  process.stderr.write(`Store: ${storeNameOf(config)}\n`);
  const log = createLogger('silent');
  const db = await opening(openExistingDatabase(config.databaseUrl, { log }));
  try {
    print(await work(contextOf(config, log, db, keysOf(config, { make: false }))));
  } finally {
    await db.close();
  }
}

/** Makes the store, or brings it up to date, without serving anybody. With SQLite the key belongs to it. */
async function migrateStore(): Promise<void> {
  const config = readConfig();
  const log = createLogger('silent');
  if (config.databaseUrl.startsWith('sqlite:')) readKeys(config, { make: true });
  await (await opening(openDatabase(config.databaseUrl, { log }))).close();
  print(`${storeNameOf(config)} is up to date.`);
}

const program = new Command('latchkey-server')
  .description(
    'The Latchkey service and its operator’s commands. Settings come from the environment and .env.',
  )
  .version(manifest.version)
  .option('--env-file <file>', 'read the settings from this file instead of .env; the environment wins')
  .hook('preAction', (options) => readEnvFile(options.opts<{ envFile?: string }>().envFile))
  .showHelpAfterError()
  // Every other end than help or version is wrong usage.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : wrongUsage));

program
  .command('serve')
  .description('run the service')
  .action(async () => {
    const config = readConfig();
    await requireFreePort(config);
    const ctx = await openForService(config);
    await serve(ctx);
    await new Promise<void>((resolve) => ctx.log.flush(() => resolve()));
  });
program
  .command('migrate')
  .description('make the store, or bring it up to date, without running the service')
  .action(migrateStore);
userCommands(program, run);
organizationCommands(program, run);
outboxCommand(program, run);
eventCommands(program, run);
doctorCommand(program, print, hasConfiguredKeys);
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
