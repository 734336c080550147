import { type Kysely, type Migration, Migrator, PostgresAdapter, sql } from 'kysely';
import { up as first } from './migrations/0001-first.ts';
import { up as passkeys } from './migrations/0002-passkeys.ts';
import { up as securityLog } from './migrations/0003-security-log.ts';
import { up as services } from './migrations/0004-services.ts';
import { up as rateLimits } from './migrations/0005-rate-limits.ts';
import { up as accountChanges } from './migrations/0006-account-changes.ts';
import { up as deviceSession } from './migrations/0007-device-session.ts';
import { up as lineage } from './migrations/0008-lineage.ts';
import { up as mailLimits } from './migrations/0009-mail-limits.ts';
import { up as refreshOrigin } from './migrations/0010-refresh-origin.ts';
import { up as emailChangeTries } from './migrations/0011-email-change-tries.ts';
import { up as slowMails } from './migrations/0012-slow-mails.ts';
import { up as scopes } from './migrations/0013-scopes.ts';
import { up as trace } from './migrations/0014-trace.ts';
import { up as internationalDomains } from './migrations/0015-international-domains.ts';
import { up as runs } from './migrations/0016-runs.ts';
import { up as feed } from './migrations/0017-feed.ts';
import { up as linkOrigin } from './migrations/0018-link-origin.ts';
import { up as eventPositions } from './migrations/0019-event-positions.ts';
import { up as linkLanguage } from './migrations/0020-link-language.ts';
import { up as browserSessions } from './migrations/0021-browser-sessions.ts';

/**
 * Append-only: a released migration is never changed. From 0021 on a name ends with the oldest program that can work on its
 * schema: `0021-hints-from-0020` is for programs that have migration 0020.
 */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001-first': { up: first },
  '0002-passkeys': { up: passkeys },
  '0003-security-log': { up: securityLog },
  '0004-services': { up: services },
  '0005-rate-limits': { up: rateLimits },
  '0006-account-changes': { up: accountChanges },
  '0007-device-session': { up: deviceSession },
  '0008-lineage': { up: lineage },
  '0009-mail-limits': { up: mailLimits },
  '0010-refresh-origin': { up: refreshOrigin },
  '0011-email-change-tries': { up: emailChangeTries },
  '0012-slow-mails': { up: slowMails },
  '0013-scopes': { up: scopes },
  '0014-trace': { up: trace },
  '0015-international-domains': { up: internationalDomains },
  '0016-runs': { up: runs },
  '0017-feed': { up: feed },
  '0018-link-origin': { up: linkOrigin },
  '0019-event-positions': { up: eventPositions },
  '0020-link-language': { up: linkLanguage },
  '0021-browser-sessions-from-0020': { up: browserSessions },
};

export const migrationNames = Object.keys(migrations);

/** The migrations of a database. Only for one that has been migrated. */
export const appliedMigrations = 'SELECT name FROM kysely_migration';

/**
 * Whether this program can work on a schema with a migration that it does not have. While an upgrade replaces nodes one
 * after the other, those of the release before can start again.
 */
export function canWorkWith(later: string, newest = migrationNames.at(-1)!): boolean {
  const [, oldest] = /-from-(\d{4})$/.exec(later) ?? [];
  return oldest !== undefined && oldest <= newest.slice(0, oldest.length);
}

export const newerStore = (cause?: unknown): Error =>
  new Error('the database was written by a newer release of Latchkey', { cause });

/**
 * Lets one program at a time migrate PostgreSQL. The lock is a row, because Kysely's own is an advisory lock, which any role that
 * may connect can hold. It lasts for the transaction of the migration, which begins here; Kysely's own BEGIN changes nothing.
 */
export class MigrationAdapter extends PostgresAdapter {
  override async acquireMigrationLock(db: Kysely<unknown>): Promise<void> {
    await sql`BEGIN`.execute(db);
    await sql`SELECT FROM kysely_migration_lock FOR UPDATE`.execute(db);
  }
  override async releaseMigrationLock(): Promise<void> {}
}

/**
 * Brings the schema up to date in one transaction, under a lock that a crash releases. Any number of nodes may start at
 * the same time, and one that is killed halfway leaves no partial schema. That of a newer release stays as it is.
 * @param last the migration to stop after; all of them by default
 * @throws {Error} when a migration fails, or this program cannot work on the schema of a newer release
 */
export async function migrate(db: Kysely<unknown>, last?: string): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await (last === undefined ? migrator.migrateToLatest() : migrator.migrateTo(last));
  if (!error) return;
  if (!(error instanceof Error) || !/previously executed migration .* is missing/.test(error.message))
    throw error;
  // Migrations are only appended, so a schema with later ones has all of this program.
  const { rows } = await sql.raw<{ name: string }>(appliedMigrations).execute(db);
  const later = rows.filter(({ name }) => !migrationNames.includes(name));
  if (!later.every(({ name }) => canWorkWith(name))) throw newerStore(error);
}
