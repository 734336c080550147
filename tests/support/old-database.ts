import { join } from 'node:path';
import { NO_MIGRATIONS, type NoMigrations } from 'kysely/migration';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { inLongTransaction } from '../../packages/server/src/platform/database/long-transaction.ts';
import { migrate, migrations } from '../../packages/server/src/platform/database/migrate.ts';
import { startPostgres } from './postgres.ts';
import { temporaryDirectory } from './service.ts';

/** A database that lacks every migration, as one of an older release lacks the newest. Returns its URL. */
export const databaseWithoutMigrations = (dialect: Dialect) => databaseUpTo(dialect, NO_MIGRATIONS);

/** A database with the schema of a migration. Returns its URL. */
export async function databaseUpTo(dialect: Dialect, last: string | NoMigrations): Promise<string> {
  const path = join(temporaryDirectory(), 'latchkey.db');
  const url = dialect === 'sqlite' ? `sqlite:${path}` : await (await startPostgres()).createDatabase();
  await inLongTransaction(url, (tx) => migrate(tx, migrations, last));
  return url;
}
