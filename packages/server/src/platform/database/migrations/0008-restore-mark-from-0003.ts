import { type Kysely, PostgresAdapter, sql } from 'kysely';

const statements = [
  'ALTER TABLE restore_guard ADD COLUMN original boolean',
  'ALTER TABLE restore_guard DROP COLUMN original',
];

/**
 * On PostgreSQL a dropped column says that this is the database that was in use (`stored-rows.ts`). The number of a transaction, which
 * said so before, can be the same in another cluster that was set up in the same way. A copy on which `finish-restore` has not run
 * remains one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
  const isOriginal = sql`SELECT FROM restore_guard WHERE written_by = CAST(CAST(xmin AS text) AS bigint)`;
  if ((await isOriginal.execute(db)).rows.length === 0) return;
  for (const statement of statements) await sql.raw(statement).execute(db);
}
