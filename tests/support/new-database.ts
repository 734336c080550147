// New databases. On PostgreSQL they are copies of one that was migrated, because that takes a third of the time.

import { join } from 'node:path';
import { NO_MIGRATIONS, type NoMigrations } from 'kysely/migration';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { inLongTransaction } from '../../packages/server/src/platform/database/long-transaction.ts';
import { migrate, migrations } from '../../packages/server/src/platform/database/migrate.ts';
import { createLogger } from '../../packages/server/src/platform/telemetry/log.ts';
import { startPostgres } from './postgres.ts';
import { temporaryDirectory } from './service.ts';

let postgresTemplate: Promise<string> | undefined;

const newFile = () => `sqlite:${join(temporaryDirectory(), 'latchkey.db')}`;

/** The address of a new database without tables. A SQLite file does not exist yet. */
export const emptyDatabase = async (dialect: Dialect): Promise<string> =>
  dialect === 'sqlite' ? newFile() : (await startPostgres()).createDatabase();

/** The address of a new database without rows. A SQLite file does not exist yet: migrating it takes no longer than copying one. */
export async function newDatabase(dialect: Dialect): Promise<string> {
  if (dialect === 'sqlite') return emptyDatabase(dialect);
  const server = await startPostgres();
  postgresTemplate ??= server.createDatabase().then(migrated);
  return server.createDatabase(await postgresTemplate);
}

async function migrated(databaseUrl: string): Promise<string> {
  const database = await openDatabase(databaseUrl, { log: createLogger('silent') });
  await database.close();
  return databaseUrl;
}

/** A database with the schema of a migration, or without any, as one of an older release lacks the newest. Returns its URL. */
export async function databaseUpTo(
  dialect: Dialect,
  last: string | NoMigrations = NO_MIGRATIONS,
): Promise<string> {
  const url = await emptyDatabase(dialect);
  await inLongTransaction(url, (tx) => migrate(tx, migrations, last));
  return url;
}
