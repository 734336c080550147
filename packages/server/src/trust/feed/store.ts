import { sql } from 'kysely';
import type { Tables } from '../../platform/database/schema.ts';
import { named, statement, textsOf } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';

/** Where a service begins to read, with one of its readers if that exists. */
export const findReader = statement<{ id: string; service_id: string }>()((db, p) =>
  db
    .selectFrom('service_keys as s')
    .leftJoin('feed_readers as r', (j) => j.on('r.id', '=', p.id))
    .select(['s.feed_since', 's.feed_from', 'r.position', 'r.settled_at', 'r.last_request_at'])
    .where('s.id', '=', p.service_id),
);

/** Locks a service, so that its readers begin one after the other. */
export const lockService = statement<{ id: string }>()((db, p, dialect) =>
  db
    .selectFrom('service_keys')
    .select('id')
    .where('id', '=', p.id)
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate()),
);

/** Deletes a reader that made no request since a moment, or is before a position, with its acknowledgements. */
export const forgetReader = statement<{ id: string; before: number; from: number }>()((db, p) =>
  db
    .deleteFrom('feed_readers')
    .where('id', '=', p.id)
    .where((e) => e.or([e('last_request_at', '<', p.before), e('position', '<', p.from)])),
);

export const countReaders = statement<{ service_id: string; since: number }>()((db, p) =>
  db
    .selectFrom('feed_readers')
    .select((e) => e.cast<number>(e.fn.countAll(), 'integer').as('readers'))
    .where('service_id', '=', p.service_id)
    .where('name', 'is not', null)
    .where('last_request_at', '>=', p.since),
);

/** Adds a reader; a row for exactly one caller. */
export const insertReader = statement<Omit<Tables['feed_readers'], 'last_request_at'> & { now: number }>()(
  (db, p) =>
    db
      .insertInto('feed_readers')
      .values({
        ...named(p, ['id', 'service_id', 'name', 'position', 'settled_at']),
        last_request_at: p.now,
      })
      .onConflict((c) => c.column('id').doNothing())
      .returning('id'),
);

/** Locks a reader, so that its requests acknowledge one after the other. */
export const lockReader = statement<{ id: string }>()((db, p, dialect) =>
  db
    .selectFrom('feed_readers')
    .select('position')
    .where('id', '=', p.id)
    .$if(dialect === 'postgres', (q) => q.forUpdate()),
);

/** The events between two positions that a reader has not acknowledged, besides those with these ids, oldest first. */
export const listUnacknowledged = statement<{
  reader_id: string;
  after: number;
  up_to: number;
  except_ids: string;
  limit: number;
}>()((db, p, dialect) =>
  db
    .selectFrom('feed_events as e')
    .select(['e.seq', 'e.id', 'e.type', 'e.user_id', 'e.session_id', 'e.detail', 'e.written_at'])
    .where('e.seq', '>', p.after)
    // Another request of the reader may have moved it on meanwhile.
    .where('e.seq', '>', (e) =>
      e.selectFrom('feed_readers as r').select('r.position').where('r.id', '=', p.reader_id),
    )
    .where('e.seq', '<=', p.up_to)
    .where('e.id', 'not in', textsOf(p.except_ids, dialect))
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('feed_acknowledgements as a')
            .select(sql`1`.as('one'))
            .where('a.reader_id', '=', p.reader_id)
            .whereRef('a.seq', '=', 'e.seq'),
        ),
      ),
    )
    .orderBy('e.seq')
    .limit(p.limit),
);

/** Records the acknowledgement of these events, except those before the reader's position. */
export const acknowledge = statement<{ reader_id: string; ids: string; after: number }>()((db, p, dialect) =>
  db
    .insertInto('feed_acknowledgements')
    .columns(['reader_id', 'seq'])
    .expression(
      db
        .selectFrom('feed_events')
        .select([p.reader_id.as('reader_id'), 'seq'])
        .where('id', 'in', textsOf(p.ids, dialect))
        .where('seq', '>', p.after),
    )
    .onConflict((c) => c.columns(['reader_id', 'seq']).doNothing()),
);

export const moveReader = statement<{ id: string; position: number; settled_at: number; now: number }>()(
  (db, p) =>
    db
      .updateTable('feed_readers')
      .set({ position: p.position, settled_at: p.settled_at, last_request_at: p.now })
      .where('id', '=', p.id),
);

export const deleteAcknowledgements = statement<{ reader_id: string; up_to: number }>()((db, p) =>
  db.deleteFrom('feed_acknowledgements').where('reader_id', '=', p.reader_id).where('seq', '<=', p.up_to),
);

/** Deletes a batch of named readers that made no request since a moment, with their acknowledgements. */
export const sweepReaders = sweepStatement()('feed_readers', 'id', (e, p) =>
  e.and([e('name', 'is not', null), e('last_request_at', '<', p.before)]),
);
