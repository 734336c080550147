import { Database as Connection } from 'bun:sqlite';
import { join } from 'node:path';
import { Kysely, Migrator, NO_MIGRATIONS } from 'kysely';
import { PostgresJSDialect } from 'kysely-postgres-js';
import postgres from 'postgres';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { migrations } from '../../packages/server/src/platform/database/migrate.ts';
import { migrationDialect } from '../../packages/server/src/platform/database/sqlite.ts';
import { startPostgres } from './postgres.ts';
import { temporaryDirectory } from './service.ts';

/** A database that lacks every migration, as one of an older release lacks the newest. Returns its URL. */
export async function databaseWithoutMigrations(dialect: Dialect): Promise<string> {
  const path = join(temporaryDirectory(), 'latchkey.db');
  const url = dialect === 'sqlite' ? `sqlite:${path}` : await (await startPostgres()).createDatabase();
  const connection = dialect === 'sqlite' ? new Connection(path, { create: true, strict: true }) : undefined;
  const db = new Kysely<unknown>({
    dialect: connection
      ? migrationDialect(connection)
      : new PostgresJSDialect({ postgres: postgres(url, { max: 1, onnotice: () => undefined }) }),
  });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateTo(NO_MIGRATIONS);
  if (error) throw error;
  await db.destroy();
  connection?.close();
  return url;
}
