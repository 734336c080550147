import type { Kysely } from 'kysely';

/** Nothing looks for sessions by scope or resource any more. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const index of ['sessions_by_scope', 'sessions_by_resource'])
    await db.schema.dropIndex(index).execute();
}
