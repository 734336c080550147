import { type Kysely, PostgresAdapter, sql } from 'kysely';

/**
 * Tells a restored copy from the database that was in use (`stored-rows.ts`). `written_by` is the transaction that wrote the row, on
 * PostgreSQL only: `pg_restore` writes it in another one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('restore_guard')
    .addColumn('written_by', 'bigint', (c) => c.notNull())
    .execute();
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const writer = isPostgres ? 'CAST(CAST(CAST(pg_current_xact_id() AS xid) AS text) AS bigint)' : '0';
  await sql.raw(`INSERT INTO restore_guard VALUES (${writer})`).execute(db);
}
