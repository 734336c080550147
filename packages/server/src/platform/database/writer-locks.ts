import { type Expression, sql } from 'kysely';
import { statement } from './statement.ts';

// On PostgreSQL a transaction with a lower number may commit after one with a higher number. So a writer marks the number
// drawn last before it draws its own, and a reader who has read the number drawn last reads the lowest mark: up to the lower
// of both, every number is committed or never will be.
//
// A mark is an advisory lock (`mark_writer` of the first migration), as a transaction shows nothing else before it commits.
// Any role that may connect can take such locks, so a mark counts only if its connection also holds the lock of an INSERT into
// the table, which takes the right to write there. A writer has that before it draws its number, so a writer who is seen
// without it will draw a number that is higher than the one that the reader read.

/** What the marks of a table's writers begin with. The default of a position in the security log says it, too. */
const sequences = { feed_events: 0, events: 1 };

type Numbered = keyof typeof sequences;

/** Marks a number until the transaction ends. For a select list. */
export const markWriter = (table: Numbered, drawn: Expression<unknown>) =>
  sql<unknown>`cast(mark_writer(${sql.lit(sequences[table])}, ${drawn}) as text)`;

/** The lowest number that a writer of the table has marked. The result is null if no writer is active. */
export const lowestWriterOf = (table: Numbered) =>
  statement()((db) =>
    db
      .selectFrom(
        sql<{ position: number | null }>`(
        select min(key & ((cast(1 as bigint) << 40) - 1)) filter (where key >> 62 = ${sql.lit(sequences[table])}) as position
        from (
          select pid, relation,
            case locktype when 'advisory' then (cast(classid as bigint) << 32) | cast(objid as bigint) end as key
          from pg_locks
          where database = (select oid from pg_database where datname = current_database())
            and (locktype = 'advisory' and objsubid = 1
              or relation = cast(${sql.lit(table)} as regclass) and mode = 'RowExclusiveLock')
        ) as locks
        where pid is not null
        group by pid
        having count(relation) > 0
      )`.as('writers'),
      )
      .select(sql<number | null>`min(writers.position)`.as('position')),
  );
