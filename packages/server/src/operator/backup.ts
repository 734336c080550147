import type { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { endAllSessions, revokeAllSessions } from '../identity/account/account.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import type { Context } from '../platform/context.ts';
import { writeBackup } from '../platform/database/backup/backup.ts';
import { BackupError, type RowCounts } from '../platform/database/backup/format.ts';
import { findMissingSealKey } from '../security-log/events/auditing.ts';
import { accounts } from '../security-log/events/reading.ts';
import { restartFeeds } from '../services/service-keys/service-keys.ts';
import { hasSessions } from '../sessions/sessions.ts';
import { counted, type Runners } from './commands.ts';
import { shortTime } from './output.ts';

/** `backup` and `restore`. */
export function backupCommands(program: Command, runners: Runners): void {
  program
    .command('backup <file>')
    .description(
      'write the whole database at one moment to a new file, with email addresses and names, while the service runs; compressed if its name ends in .gz',
    )
    .option('--force', 'replace an existing file')
    .action(runners.runOnStore(backUp));

  program
    .command('restore <file>')
    .description(
      'load a backup into an empty database, SQLite or PostgreSQL, and end all sessions; stop the service before',
    )
    .option(
      '--keep-sessions',
      'keep the sessions and keys of the backup, including those that were revoked since',
    )
    .option(
      '--any-keys',
      'restore although the keys of that time are lost, so that nothing shows whether somebody changed the backup',
    )
    .action(async (file: string, options: RestoreOptions) =>
      runners.print(await restore(runners, file, options)),
    );
}

interface RestoreOptions {
  readonly keepSessions?: boolean;
  readonly anyKeys?: boolean;
}

const summary = ({ users = 0, sessions = 0, passkeys = 0, events = 0 }: RowCounts): string =>
  [
    counted(users, 'account'),
    counted(passkeys, 'passkey'),
    counted(sessions, 'session'),
    counted(events, 'entry of the security log', 'entries of the security log'),
  ].join(', ');

/** Turns what the operator can act on into one sentence. */
const namingFile = (file: string) => (error: unknown) => {
  if (error instanceof BackupError) throw new ConfigError(`${file}: ${error.message}.`);
  if (error instanceof Error && 'syscall' in error) throw new ConfigError(`${file}: ${error.message}.`);
  throw error;
};

async function backUp(ctx: Context, file: string, { force = false }: { force?: boolean }): Promise<string> {
  const counts = await writeBackup({
    url: ctx.config.databaseUrl,
    file,
    force,
    keys: ctx.keys,
    release: manifest.version,
    now: ctx.clock(),
  }).catch(namingFile(file));
  return [
    `Wrote ${file}: ${summary(counts)}.`,
    'The keys of the service are not in it. Keep them elsewhere: without them the backup is of little use.',
  ].join('\n');
}

async function restore(
  { runWithRestored }: Runners,
  file: string,
  { keepSessions = false, anyKeys = false }: RestoreOptions,
): Promise<string> {
  const { header, counts, isSealed } = await runWithRestored({ file, anyKeys }, async (ctx) => {
    await restartFeeds(ctx);
    if (!keepSessions) await endAll(ctx);
    // Under keys that this store has not had, the service starts only once one of them has sealed something.
    const missing = await findMissingSealKey(ctx.db.read, ctx);
    if (missing) await revokeAllSessions(ctx, missing.userId, 'operator');
  }).catch(namingFile(file));
  const time = `${shortTime(header.created_at)} UTC`;
  return [
    `Restored the backup of ${time}: ${summary(counts)}.`,
    ...(isSealed
      ? []
      : [
          'WARNING: its seal is under another key and was not verified, so changes to it cannot be detected.',
        ]),
    keepSessions
      ? 'WARNING: its sessions and keys are active again, including those that were revoked since.'
      : 'All sessions and keys have ended: people sign in again, and create new keys for their programs.',
    `Not restored: waiting emails, pending sign-ins and device codes, tokens of services, and the keys of the service.`,
    `Changes after ${time} are lost: accounts deleted since are back, disabled ones are enabled, removed passkeys, memberships and service keys are valid again, and address changes are undone. Repeat such changes.`,
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
