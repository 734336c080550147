import { type CompiledQuery, type Dialect, DummyDriver, Kysely, PostgresAdapter, sql } from 'kysely';
import { type Migration, Migrator, type NoMigrations } from 'kysely/migration';
import type { Executor, Value } from './executor.ts';
import { up as schema } from './migrations/0001-first.ts';
import { up as noAccessIndexes } from './migrations/0002-no-access-indexes-from-0001.ts';
import { up as ordinals } from './migrations/0003-ordinals-from-0001.ts';
import { up as logTotals } from './migrations/0004-log-totals-from-0003.ts';
import { up as keyEnds } from './migrations/0005-key-ends-from-0003.ts';
import { up as restoreGuard } from './migrations/0006-restore-guard-from-0003.ts';
import { up as touches } from './migrations/0007-touches-from-0003.ts';
import { up as restoreMark } from './migrations/0008-restore-mark-from-0003.ts';
import { up as endedRuns } from './migrations/0009-ended-runs-from-0003.ts';
import { kyselyDialects } from './statement.ts';

export type Migrations = Readonly<Record<string, Migration>>;

/**
 * Append-only: a released migration is never changed. From the second one on a name ends with the oldest
 * program that can work on its schema: `0003-hints-from-0002` is for programs that have migration 0002.
 */
export const migrations: Migrations = {
  '0001-first': { up: schema },
  '0002-no-access-indexes-from-0001': { up: noAccessIndexes },
  '0003-ordinals-from-0001': { up: ordinals },
  '0004-log-totals-from-0003': { up: logTotals },
  '0005-key-ends-from-0003': { up: keyEnds },
  '0006-restore-guard-from-0003': { up: restoreGuard },
  '0007-touches-from-0003': { up: touches },
  '0008-restore-mark-from-0003': { up: restoreMark },
  '0009-ended-runs-from-0003': { up: endedRuns },
};

export const migrationNames = Object.keys(migrations);

/** The migrations of a database. Only for one that has been migrated. */
export const appliedMigrations = 'SELECT name FROM kysely_migration';

/** Whether a node of the previous release can restart on this newer schema, as during an upgrade. */
export function canWorkWith(later: string, newest = migrationNames.at(-1)!): boolean {
  const [, oldest] = /-from-(\d{4})$/.exec(later) ?? [];
  return oldest !== undefined && oldest <= newest.slice(0, oldest.length);
}

export const newerStore = (cause?: unknown): Error =>
  new Error('the database was written by a newer release of Latchkey', { cause });

/** The lock is a row: any role that may connect can hold Kysely's own, an advisory lock. */
class LockingAdapter extends PostgresAdapter {
  override async acquireMigrationLock(db: Kysely<unknown>): Promise<void> {
    await sql`SELECT FROM kysely_migration_lock FOR UPDATE`.execute(db);
  }
  override async releaseMigrationLock(): Promise<void> {}
}

/** Everything runs in the transaction of the executor. */
function dialectOn(tx: Executor): Dialect {
  const connection = {
    executeQuery: async <Row>({ sql: text, parameters }: CompiledQuery) => ({
      rows: await tx.run<Row>(text, parameters as readonly Value[]),
    }),
    streamQuery: () => {
      throw new Error('a migration streams no rows');
    },
  };
  return {
    ...kyselyDialects[tx.dialect],
    ...(tx.dialect === 'postgres' ? { createAdapter: () => new LockingAdapter() } : {}),
    createDriver: () => Object.assign(new DummyDriver(), { acquireConnection: async () => connection }),
  };
}

/**
 * Brings the schema up to date in a transaction. The caller commits it, so a crash leaves no partial schema.
 * Any number of nodes may start at the same time. The schema of a newer release stays as it is.
 * @param last the migration to stop after; all of them by default
 * @throws {Error} when a migration fails, or this program cannot use the schema of a newer release
 */
export async function migrate(tx: Executor, all: Migrations = migrations, last?: string | NoMigrations) {
  const db = new Kysely<unknown>({ dialect: dialectOn(tx) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...all }) } });
  const { error } = await (last === undefined ? migrator.migrateToLatest() : migrator.migrateTo(last));
  if (!error) return;
  if (!(error instanceof Error) || !/previously executed migration .* is missing/.test(error.message))
    throw error;
  // Migrations are only appended, so a schema with later ones has all of this program.
  const rows = await tx.run<{ name: string }>(appliedMigrations, []);
  const later = rows.filter(({ name }) => !Object.hasOwn(all, name));
  if (!later.every(({ name }) => canWorkWith(name))) throw newerStore(error);
}
