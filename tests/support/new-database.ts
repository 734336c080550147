// New databases. On PostgreSQL they are copies of one that was migrated, because that takes a third of the time.

import { join } from 'node:path';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { createLogger } from '../../packages/server/src/platform/telemetry/log.ts';
import { startPostgres } from './postgres.ts';
import { temporaryDirectory } from './service.ts';

let postgresTemplate: Promise<string> | undefined;

/** The address of a new database without rows. A SQLite file does not exist yet: migrating it takes no longer than copying one. */
export async function newDatabase(dialect: Dialect): Promise<string> {
  if (dialect === 'sqlite') return `sqlite:${join(temporaryDirectory(), 'latchkey.db')}`;
  const server = await startPostgres();
  postgresTemplate ??= server.createDatabase().then(migrated);
  return server.createDatabase(await postgresTemplate);
}

async function migrated(databaseUrl: string): Promise<string> {
  const database = await openDatabase(databaseUrl, { log: createLogger('silent') });
  await database.close();
  return databaseUrl;
}
