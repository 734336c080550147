import { type RawBuilder, sql } from 'kysely';
import type { Tables } from '../../platform/database/schema.ts';
import { statement } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';
import { lowestWriterOf, markWriter } from '../../platform/database/writer-locks.ts';

/** The channel on which PostgreSQL announces that events were committed. */
export const feedChannel = 'latchkey_feed';

/**
 * Before a PostgreSQL transaction draws its first number: marks the number drawn last until it has ended, so
 * that readers see from where on its events may be missing (`lowestWriter`). Never waits. Also announces the
 * commit. One mark is enough for a transaction.
 */
export const announceWriter = statement()((db) =>
  db
    .selectFrom(sql<{ last_value: number }>`feed_sequence`.as('s'))
    .select([
      markWriter('feed_events', sql.ref('s.last_value')).as('mark'),
      sql`set_config('latchkey.writes_feed', 'yes', true)`.as('setting'),
      sql`cast(pg_notify(${sql.lit(feedChannel)}, '') as text)`.as('notice'),
    ])
    .where(sql<boolean>`coalesce(current_setting('latchkey.writes_feed', true), '') = ''`),
);

const millisecondsOf = (time: RawBuilder<Date>) =>
  sql<number>`cast(floor(extract(epoch from ${time}) * 1000) as bigint)`;

/** What the caller supplies of a new event. */
const given = ['id', 'type', 'user_id', 'session_id', 'detail'] as const;
export type NewEvent = Pick<Tables['feed_events'], (typeof given)[number]>;

/** Adds a JSON array of `NewEvent` in order, with their cause. On PostgreSQL the database sets the times. */
export const insertEvents = statement<{ events: string; now: number }>()((db, p, dialect) => {
  const all =
    dialect === 'postgres'
      ? sql<object>`jsonb_array_elements(cast(cast(${p.events} as text) as jsonb))`
      : sql<object>`json_each(${p.events})`;
  const numbered = dialect === 'postgres' ? { seq: sql<number>`nextval('feed_sequence')` } : {};
  const row = {
    ...numbered,
    ...Object.fromEntries(given.map((name) => [name, sql`event.value ->> ${sql.lit(name)}`])),
    written_at: dialect === 'postgres' ? millisecondsOf(sql`clock_timestamp()`) : p.now,
  };
  return db
    .insertInto('feed_events')
    .columns(Object.keys(row) as (keyof Tables['feed_events'])[])
    .expression(
      db.selectFrom(all.as('event')).select(Object.entries(row).map(([column, value]) => value.as(column))),
    );
});

/** The number drawn last, committed or not, and the database's time before it was read. For PostgreSQL. */
export const findLastDrawn = statement()((db) =>
  db
    .selectFrom(sql<{ last_value: number }>`feed_sequence`.as('s'))
    .select(['s.last_value as drawn', millisecondsOf(sql`statement_timestamp()`).as('now')]),
);

/** The lowest number that a writer of this database holds; null if there is none. For PostgreSQL. */
export const lowestWriter = lowestWriterOf('feed_events');

/**
 * The newest committed event up to a position, and when the oldest committed event after it was written. Both
 * are read in the snapshot of this statement, so call it last.
 */
export const findExtent = statement<{ up_to: number }>()((db, p) =>
  db.selectNoFrom((e) => [
    e
      .selectFrom('feed_events')
      .select((f) => f.fn.coalesce(f.fn.max('seq'), f.lit(0)).as('seq'))
      .where('seq', '<=', p.up_to)
      .as('newest'),
    e
      .selectFrom('feed_events')
      .select((f) => f.fn.min('written_at').as('written_at'))
      .where('seq', '>', p.up_to)
      .as('held_since'),
  ]),
);

export const sweepFeedEvents = sweepStatement()('feed_events', 'seq', (e, p) =>
  e('written_at', '<', p.before),
);
