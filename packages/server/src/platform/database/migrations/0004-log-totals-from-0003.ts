import type { Kysely } from 'kysely';

/**
 * How many events all logs have had since this migration, in buckets of accounts. `counted` is how many of an account's events are in
 * the total of its `bucket`, the last of them `counted_seq`; `count_seal` seals both. Seals are a key id, a dot and a MAC; empty while
 * nothing was counted. Events that an earlier program adds meanwhile are not counted.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('log_totals')
    .addColumn('bucket', 'integer', (c) => c.primaryKey())
    .addColumn('total', 'bigint', (c) => c.notNull())
    .addColumn('seal', 'text', (c) => c.notNull())
    .execute();
  const chains = () => db.schema.alterTable('event_chains');
  await chains()
    .addColumn('bucket', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  for (const column of ['counted', 'counted_seq'])
    await chains()
      .addColumn(column, 'bigint', (c) => c.notNull().defaultTo(0))
      .execute();
  await chains()
    .addColumn('count_seal', 'text', (c) => c.notNull().defaultTo(''))
    .execute();
}
