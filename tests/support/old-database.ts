// Databases with the schema of an earlier release.

import { Database as Connection } from 'bun:sqlite';
import { join } from 'node:path';
import { Kysely, Migrator, type TableMetadata } from 'kysely';
import { PostgresJSDialect } from 'kysely-postgres-js';
import postgres from 'postgres';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { migrations } from '../../packages/server/src/platform/database/migrate.ts';
import { migrationDialect } from '../../packages/server/src/platform/database/sqlite.ts';
import { startPostgres } from './postgres.ts';
import { temporaryDirectory } from './service.ts';

export type Row = Record<string, string | number | null>;

/** A database with the schema of an earlier release. */
export interface OldDatabase {
  readonly tables: readonly TableMetadata[];
  insert(table: string, row: Row): Promise<void>;
}

/** Tables whose rows come from triggers or a migration. */
const filledByItself = new Set(['event_positions', 'address_locks']);

/** Creates a database, migrates it up to this migration and no further, and lets `fill` insert rows; returns its URL. */
export async function databaseAt(
  dialect: Dialect,
  migration: string,
  fill: (old: OldDatabase) => Promise<void> = async () => undefined,
): Promise<string> {
  const path = join(temporaryDirectory(), 'latchkey.db');
  const url = dialect === 'sqlite' ? `sqlite:${path}` : await (await startPostgres()).createDatabase();
  const connection = dialect === 'sqlite' ? new Connection(path, { create: true, strict: true }) : undefined;
  const db = new Kysely<Record<string, Row>>({
    dialect: connection
      ? migrationDialect(connection)
      : new PostgresJSDialect({ postgres: postgres(url, { max: 1, onnotice: () => undefined }) }),
  });
  connection?.run('PRAGMA foreign_keys = ON');
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateTo(migration);
  if (error) throw error;
  const tables = (await db.introspection.getTables()).filter(({ name }) => !filledByItself.has(name));
  const insert: OldDatabase['insert'] = async (table, row) => {
    await db.insertInto(table).values(row).execute();
  };
  await fill({ tables, insert });
  await db.destroy();
  connection?.close();
  return url;
}
