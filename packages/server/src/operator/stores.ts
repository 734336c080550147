import type { Command } from 'commander';
import { endAllSessions, revokeAllSessions } from '../identity/account/account.ts';
import { type Config, sqliteFileOf, storeNameOf } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import { hasConfiguredKeys, keyFilePath } from '../platform/config/server-keys.ts';
import type { Context } from '../platform/context.ts';
import { backUpSqlite, copyStore } from '../platform/database/copy.ts';
import { StoreRefusal } from '../platform/database/executor.ts';
import { databaseWithin, inLongTransaction } from '../platform/database/long-transaction.ts';
import { requireUnserved } from '../platform/database/store-lock.ts';
import {
  deleteOverAfterRestore,
  markRestoreFinished,
  skipNumbers,
} from '../platform/database/stored-rows.ts';
import { codeOf } from '../platform/telemetry/redact.ts';
import { findMissingSealKey } from '../security-log/events/auditing.ts';
import { accounts } from '../security-log/events/reading.ts';
import { restartFeeds } from '../services/service-keys.ts';
import { hasSessions } from '../sessions/sessions.ts';
import { readConfig } from '../settings.ts';
import { type CommandContext, type CommandIo, counted, type Restoring, type Runners } from './commands.ts';
import { claimFile, missingKeyText } from './open-store.ts';

export function storeCommands(program: Command, { runOnStore, runOnRestored }: Runners): void {
  program
    .command('backup <file>')
    .description(
      'write a copy of the SQLite database, with email addresses and names, to a new file while the service runs',
    )
    .action(runOnStore(backUp));

  program
    .command('finish-restore')
    .description('make a restored database ready for the service, and end all sessions')
    .option(
      '--keep-sessions',
      'keep the sessions and keys of the backup, including those that were revoked since',
    )
    .option('--any-keys', 'go on although the keys of that time are lost')
    .action((options: RestoreOptions) => runOnRestored(options)(finishRestore)(options));

  program
    .command('copy')
    .description(
      'copy everything into an empty database, SQLite or PostgreSQL, without ending a session; stop the service before',
    )
    .requiredOption('--to <url>', 'the DATABASE_URL of the empty database')
    .action(runOnStore(copy));
}

/** Turns what the operator can act on into one sentence. */
const refuse = (subject: string) => (error: unknown) => {
  if (error instanceof Error && (error instanceof StoreRefusal || 'syscall' in error))
    throw new ConfigError(`${subject}: ${error.message}.`);
  throw error;
};

async function backUp({ config }: Context, file: string): Promise<string> {
  const path = sqliteFileOf(config);
  if (path === undefined) throw new ConfigError('PostgreSQL has its own program for this: pg_dump.');
  if (file === '') throw new ConfigError('The name of the file is empty.');
  await backUpSqlite(path, file).catch((error) => {
    if (codeOf(error) === 'EEXIST') throw new ConfigError(`${file} exists already. Choose another name.`);
    refuse(file)(error);
  });
  return [
    `Wrote ${file}.`,
    'The keys of the service are not in it. Keep them elsewhere: without them the backup is of little use.',
  ].join('\n');
}

interface RestoreOptions extends Restoring {
  readonly keepSessions?: boolean;
}

/**
 * Ends what may have been used or revoked since the backup, skips the numbers that may have been drawn, and lets the service start. All
 * in one transaction.
 */
async function finishRestore(
  ctx: CommandContext,
  { keepSessions = false, anyKeys = false }: RestoreOptions,
): Promise<string> {
  const { config } = ctx;
  await inLongTransaction(config.databaseDirectUrl ?? config.databaseUrl, async (tx) => {
    if (tx.dialect === 'postgres') await requireUnserved(tx);
    const missing = await missingKeyText(config, tx, ctx);
    if (missing !== undefined && !anyKeys)
      throw new StoreRefusal(`${missing}. If they are lost, use --any-keys`);
    const within = { ...ctx, db: databaseWithin(tx) };
    await deleteOverAfterRestore(tx);
    await skipNumbers(tx);
    await restartFeeds(within.db.single, {});
    if (!keepSessions) await endAll(within);
    // Under keys that this store has not had, the service starts only once one of them has sealed something.
    const unsealed = await findMissingSealKey(tx, ctx);
    if (unsealed) await revokeAllSessions(within, unsealed.userId, 'operator');
    await markRestoreFinished(tx);
  }).catch(refuse('The restore was not finished'));
  return [
    keepSessions
      ? 'WARNING: the sessions and keys of the backup are active again, including those that were revoked since.'
      : 'All sessions and keys have ended: people sign in again, and create new keys for their programs.',
    'Waiting emails, pending sign-ins and device codes, and tokens of services were removed.',
    'Changes after the backup are lost: accounts deleted since are back, disabled ones are enabled, removed passkeys, memberships and service keys are valid again, and address changes are undone. Repeat such changes.',
    'Services that read the feed learn that events are missing.',
  ].join('\n');
}

/** Ends also what waits without a session, such as a change of the address. Only who had a session finds that in their log. */
async function endAll(ctx: Context): Promise<void> {
  for await (const userId of accounts(ctx)) {
    if (await hasSessions(ctx, userId)) await revokeAllSessions(ctx, userId, 'operator');
    else await ctx.db.transaction((tx) => endAllSessions(tx, userId));
  }
}

async function copy({ config, env }: CommandContext, { to }: { to: string }): Promise<string> {
  const target = targetOf(env, to);
  claimFile(config);
  const counts = await copyStore(config.databaseDirectUrl ?? config.databaseUrl, target.databaseUrl).catch(
    refuse('Nothing was copied'),
  );
  return [
    `Copied ${counted(counts['users'] ?? 0, 'account')} and everything else to ${storeNameOf(target)}.`,
    `Set DATABASE_URL to it, and ${keysFor(env, target, config)}. No token is good under other keys.`,
    'Do not start the service on the former database again: tokens would be used twice.',
  ].join('\n');
}

/** The settings of a service on the copy. @throws {ConfigError} if the URL is not one of a database */
function targetOf(env: CommandIo['env'], to: string): Config {
  try {
    return readConfig({ ...env, DATABASE_URL: to, LATCHKEY_DATABASE_DIRECT_URL: undefined });
  } catch (error) {
    throw new ConfigError((error as ConfigError).message.replace('DATABASE_URL', '--to'));
  }
}

/** How the service on the copy gets the keys of the original. */
function keysFor(env: CommandIo['env'], target: Config, source: Config): string {
  if (hasConfiguredKeys(env)) return 'keep LATCHKEY_KEYS';
  return sqliteFileOf(target) === undefined
    ? `LATCHKEY_KEYS to the content of ${keyFilePath(source)}`
    : `copy ${keyFilePath(source)} to ${keyFilePath(target)}`;
}
