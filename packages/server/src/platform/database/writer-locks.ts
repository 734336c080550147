import { sql } from 'kysely';
import { statement } from './statement.ts';

/**
 * On PostgreSQL a transaction with a lower number may commit after one with a higher number. So a writer takes a shared
 * advisory lock on the number drawn last before it draws its own, and a reader who has read the number drawn last reads the
 * lowest such lock: up to the lower of both, every number is committed or never will be.
 *
 * `space` marks the locks of one sequence in their upper 16 bits; the lower 48 bits are a number. The result is null if no
 * writer is active.
 */
export const lowestWriterOf = (space: number) =>
  statement<Record<never, never>>()((db) =>
    db
      .selectFrom(
        sql<{ key: number }>`(
        select (cast(classid as bigint) << 32) | cast(objid as bigint) as key from pg_locks
        where locktype = 'advisory' and objsubid = 1
          and database = (select oid from pg_database where datname = current_database())
      )`.as('l'),
      )
      .select(sql<number | null>`min(l.key & ((cast(1 as bigint) << 48) - 1))`.as('position'))
      .where(sql<boolean>`l.key >> 48 = ${sql.lit(space)}`),
  );
