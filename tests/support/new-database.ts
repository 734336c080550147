// New databases with the current schema: copies of one that was migrated, because that takes a third of the time.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { createLogger } from '../../packages/server/src/platform/telemetry/log.ts';
import { startPostgres } from './postgres.ts';
import { temporaryDirectory } from './service.ts';

let sqliteTemplate: Promise<string> | undefined;
let postgresTemplate: Promise<string> | undefined;

/** Creates a database without rows and returns its address. */
export async function newDatabase(dialect: Dialect): Promise<string> {
  if (dialect === 'sqlite') {
    sqliteTemplate ??= migrated(`sqlite:${join(temporaryDirectory(), 'template.db')}`);
    const file = join(temporaryDirectory(), 'latchkey.db');
    copyFileSync((await sqliteTemplate).replace('sqlite:', ''), file);
    return `sqlite:${file}`;
  }
  const server = await startPostgres();
  postgresTemplate ??= server.createDatabase().then(migrated);
  return server.createDatabase(await postgresTemplate);
}

async function migrated(databaseUrl: string): Promise<string> {
  const database = await openDatabase(databaseUrl, { log: createLogger('silent') });
  await database.close();
  return databaseUrl;
}
