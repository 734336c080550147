import { type Expression, type ExpressionBuilder, sql } from 'kysely';
import type { Dialect } from '../../platform/database/executor.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, statement, textsOf, together } from '../../platform/database/statement.ts';
import { lowestWriterOf } from '../../platform/database/writer-locks.ts';
import type { EventRow } from './chain.ts';

const eventColumns = [
  'id',
  'user_id',
  'type',
  'session_id',
  'ip_address',
  'user_agent',
  'detail',
  'created_at',
  'seq',
  'once',
  'mac',
] as const;

const insertEvent = statement<{ [K in keyof EventRow]: EventRow[K] }>()((db, p) =>
  db.insertInto('events').values(named(p, eventColumns)),
);

/** The account's event with this `once` value, which is unique within its log. */
export const findOnce = statement<{ user_id: string; once: string }>()((db, p) =>
  db.selectFrom('events').select('id').where('user_id', '=', p.user_id).where('once', '=', p.once),
);

/** The account's events whose `once` is one of the strings of a JSON array, in any order: sorting would lead SQLite to another index. */
export const listOnce = statement<{ user_id: string; slots: string }>()((db, p, dialect) =>
  db
    .selectFrom('events')
    .select(eventColumns)
    .where('user_id', '=', p.user_id)
    // For the partial index.
    .where('once', 'is not', null)
    .where('once', 'in', textsOf(p.slots, dialect)),
);

export const findChain = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('event_chains').selectAll().where('user_id', '=', p.user_id),
);

const lockedOwner = (
  e: ExpressionBuilder<Tables, 'event_chains'>,
  userId: Expression<string>,
  dialect: Dialect,
) =>
  e
    .selectFrom('users')
    .select('users.id')
    .where('users.id', '=', userId)
    .$if(dialect === 'postgres', (q) => q.forKeyShare());

/**
 * Locks the chain of an account until the transaction ends, which puts the account's events in one order. Locks the
 * account first, as every transaction that locks both does; inserting the event would lock it anyway.
 */
export const lockChain = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom('event_chains')
    .selectAll()
    .where('user_id', '=', (e) => lockedOwner(e, p.user_id, dialect))
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate()),
);

/** Locks the chain of an account; no row if another transaction holds it. */
export const lockFreeChain = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom('event_chains')
    .selectAll()
    .where('user_id', '=', p.user_id)
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate().skipLocked()),
);

/** Creates the chain of an account after any events it already has; does nothing if it has a chain or is gone. */
export const insertChain = statement<{ user_id: string }>()((db, p, dialect) => {
  const lock = dialect === 'postgres' ? sql`for key share` : sql``;
  const insert = sql`insert into "event_chains" (user_id, base_seq, base_mac, head_seq, head_mac, head_at, seal)
    select id, 0, '', (select coalesce(max(seq), 0) from "events" where user_id = "users".id), '', 0, ''
    from "users" where id = ${p.user_id} ${lock}
    on conflict (user_id) do nothing`;
  return { compile: () => insert.compile(db) };
});

/** Updates both ends of a chain, unless they have changed since its `seen` seal was read. */
export const updateChain = statement<Tables['event_chains'] & { seen: string }>()((db, p) =>
  db
    .updateTable('event_chains')
    .set({
      ...named(p, ['base_seq', 'base_mac', 'head_seq', 'head_mac', 'head_at', 'oldest_at', 'seal']),
      ...named(p, ['counted', 'counted_seq', 'count_seal']),
    })
    .where('user_id', '=', p.user_id)
    .where('seal', '=', p.seen),
);

/** On PostgreSQL, whether this transaction has written the row. SQLite writes in one transaction at a time. */
const isWrittenHere = (dialect: Dialect) =>
  dialect === 'postgres'
    ? sql<boolean>`log_totals.xmin = cast(pg_current_xact_id() as xid)`
    : sql<boolean>`false`;

/**
 * Locks the chain of an account, as `lockChain` does, and one total: the one that this transaction has
 * counted in, or of those that no other holds the one with the least. If all are held, its columns are null.
 */
export const lockLog = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom('event_chains')
    .leftJoin(
      (e) =>
        e
          .selectFrom('log_totals')
          .selectAll()
          .orderBy(isWrittenHere(dialect), 'desc')
          .orderBy('total')
          .limit(1)
          .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate().skipLocked())
          .as('free'),
      (j) => j.onTrue(),
    )
    .selectAll('event_chains')
    .select(['free.bucket as total_bucket', 'free.total', 'free.seal as total_seal'])
    .where('event_chains.user_id', '=', (e) => lockedOwner(e, p.user_id, dialect))
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate('event_chains')),
);

/** Creates a total that has counted nothing, which this transaction holds. */
export const insertTotal = statement<{ bucket: number }>()((db, p) =>
  db.insertInto('log_totals').values({ bucket: p.bucket, total: 0, seal: '' }).returningAll(),
);

export const updateTotal = statement<Tables['log_totals']>()((db, p) =>
  db
    .updateTable('log_totals')
    .set(named(p, ['total', 'seal']))
    .where('bucket', '=', p.bucket),
);

/** Adds an event to a locked log, with both ends of its chain and a total. */
export const appendEvent = together(updateChain, insertEvent, updateTotal);

/** How many events all chains have counted, beside each total, as of one moment. One row without a total if there is none. */
export const listTotals = statement()((db) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('event_chains')
        .select((f) =>
          f.cast<number>(f.fn.coalesce(f.fn.sum('event_chains.counted'), f.lit(0)), 'bigint').as('counted'),
        )
        .as('chains'),
    )
    .leftJoin('log_totals', (j) => j.onTrue())
    .select(['chains.counted', 'bucket', 'total', 'seal']),
);

/** Sets the time from which the sweep looks for expired events in a chain. */
export const postponeSweep = statement<{ user_id: string; oldest_at: number | null }>()((db, p) =>
  db.updateTable('event_chains').set({ oldest_at: p.oldest_at }).where('user_id', '=', p.user_id),
);

export const findExpiredChains = statement<{ before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('event_chains')
    .select('user_id')
    .where('oldest_at', '<', p.before)
    .orderBy('oldest_at')
    .limit(p.limit),
);

export const listEventsAfter = statement<{ user_id: string; after_seq: number; limit: number }>()((db, p) =>
  db
    .selectFrom('events')
    .select(eventColumns)
    .where('user_id', '=', p.user_id)
    .where('seq', '>', p.after_seq)
    .orderBy('seq')
    .limit(p.limit),
);

/** Replaces the detail and MAC of an event, under the lock of its chain. */
export const updateEvent = statement<{ id: string; detail: string | null; mac: string }>()((db, p) =>
  db.updateTable('events').set({ detail: p.detail, mac: p.mac }).where('id', '=', p.id),
);

export const listEventsBefore = statement<{ user_id: string; before_seq: number; limit: number }>()((db, p) =>
  db
    .selectFrom('events')
    .select(eventColumns)
    .where('user_id', '=', p.user_id)
    .where('seq', '<', p.before_seq)
    .orderBy('seq', 'desc')
    .limit(p.limit),
);

export const deleteEvents = statement<{ user_id: string; up_to_seq: number }>()((db, p) =>
  db.deleteFrom('events').where('user_id', '=', p.user_id).where('seq', '<=', p.up_to_seq).returning('id'),
);

export const listAccounts = statement<{ after_id: string; limit: number }>()((db, p) =>
  db.selectFrom('users').select(['id']).where('id', '>', p.after_id).orderBy('id').limit(p.limit),
);

export const findAccount = statement<{ id: string }>()((db, p) =>
  db.selectFrom('users').select('id').where('id', '=', p.id),
);

/** The lowest position that a writer holds; null if there is none. For PostgreSQL. */
export const lowestWriter = lowestWriterOf('events');

/** The position drawn last, whether or not its event is committed; no row before the first event on SQLite. */
export const findLastPosition = statement()((db, _, dialect) =>
  dialect === 'postgres'
    ? db.selectFrom(sql<{ last_value: number }>`event_sequence`.as('s')).select('s.last_value as position')
    : db
        .selectFrom(sql<{ name: string; seq: number }>`sqlite_sequence`.as('s'))
        .select('s.seq as position')
        .where('s.name', '=', 'events'),
);

/** Events of all accounts after a position and up to another one, in their order. */
export const listEventsByPosition = statement<{ after: number; up_to: number; limit: number }>()((db, p) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('position', '>', p.after)
    .where('position', '<=', p.up_to)
    .orderBy('position')
    .limit(p.limit),
);

/** The id of a server key, which is at the beginning of a MAC, before the dot. */
const keyIdOf = (mac: Expression<string>) => sql<string>`substr(${mac}, 1, 7)`;

export const newestSeal = statement()((db) =>
  db
    .selectFrom('events')
    .select(['user_id', 'mac'])
    .where('mac', '<>', '')
    .orderBy('position', 'desc')
    .limit(1),
);

export const anyChainSeal = statement()((db) =>
  db.selectFrom('event_chains').select(['user_id', 'seal as mac']).where('seal', '<>', '').limit(1),
);

/** When each server key last sealed an event that is kept, or the ends of a log whose newest seal that is. Reads the whole log. */
export const lastSeals = statement()((db) =>
  db
    .selectFrom(
      db
        .selectFrom('events')
        .select(['mac', 'created_at as sealed_at'])
        .unionAll(db.selectFrom('event_chains').select(['seal as mac', 'head_at as sealed_at']))
        .as('sealed'),
    )
    .select((e) => [keyIdOf(e.ref('mac')).as('key_id'), e.fn.max('sealed_at').as('sealed_at')])
    .where('mac', '<>', '')
    .groupBy('key_id'),
);

/** When a server key other than this one first sealed an event after a time. Reads the log since then. */
export const firstSealByAnother = statement<{ key_id: string; after: number }>()((db, p) =>
  db
    .selectFrom('events')
    .select((e) => e.fn.min('created_at').as('sealed_at'))
    .where('created_at', '>', p.after)
    .where('mac', '<>', '')
    .where((e) => e(keyIdOf(e.ref('mac')), '<>', p.key_id)),
);
