import type { Tables } from '../../platform/database/schema.ts';
import { statement } from '../../platform/database/statement.ts';

type EventRow = Tables['events'];

/** Adds one event; rolled back with the transaction of its cause. */
export const insertEvent = statement<{ [K in keyof EventRow]: EventRow[K] }>()((db, p) =>
  db.insertInto('events').values({
    id: p.id,
    user_id: p.user_id,
    type: p.type,
    session_id: p.session_id,
    ip_address: p.ip_address,
    user_agent: p.user_agent,
    detail: p.detail,
    created_at: p.created_at,
    seq: p.seq,
    once: p.once,
    mac: p.mac,
  }),
);

/** Whether the account has the one event that may carry this. */
export const findOnce = statement<{ user_id: string; once: string }>()((db, p) =>
  db.selectFrom('events').select('id').where('user_id', '=', p.user_id).where('once', '=', p.once),
);

export const findChain = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('event_chains').selectAll().where('user_id', '=', p.user_id),
);

/**
 * The same, locked until the transaction ends: the events of one account are put in one order here. The account comes
 * before its chain, in the order of all who lock both: the event would ask for it anyway.
 */
export const lockChain = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom('event_chains')
    .selectAll()
    .where('user_id', '=', (e) =>
      e
        .selectFrom('users')
        .select('id')
        .where('id', '=', p.user_id)
        .$if(dialect === 'postgres', (q) => q.forKeyShare()),
    )
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate()),
);

/** The same, passing over one that another transaction holds. */
export const lockFreeChain = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom('event_chains')
    .selectAll()
    .where('user_id', '=', p.user_id)
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate().skipLocked()),
);

/** Starts the chain of an account behind whatever events it has; nothing if it has a chain or is gone. */
export const insertChain = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .insertInto('event_chains')
    .columns(['user_id', 'unsealed', 'base_seq', 'base_mac', 'head_seq', 'head_mac', 'head_at', 'seal'])
    .expression(
      db
        .selectFrom('users')
        .select((e) => [
          'users.id as user_id',
          e.lit(0).as('unsealed'),
          e.lit(0).as('base_seq'),
          e.val('').as('base_mac'),
          e.fn
            .coalesce(
              e
                .selectFrom('events')
                .select((f) => f.fn.max('events.seq').as('seq'))
                .whereRef('events.user_id', '=', 'users.id'),
              e.lit(0),
            )
            .as('head_seq'),
          e.val('').as('head_mac'),
          e.lit(0).as('head_at'),
          e.val('').as('seal'),
        ])
        .where('users.id', '=', p.user_id)
        .$if(dialect === 'postgres', (q) => q.forKeyShare()),
    )
    .onConflict((c) => c.column('user_id').doNothing()),
);

/** Replaces both ends of a locked chain. */
export const updateChain = statement<{
  user_id: string;
  base_seq: number;
  base_mac: string;
  head_seq: number;
  head_mac: string;
  head_at: number;
  oldest_at: number | null;
  seal: string;
}>()((db, p) =>
  db
    .updateTable('event_chains')
    .set({
      base_seq: p.base_seq,
      base_mac: p.base_mac,
      head_seq: p.head_seq,
      head_mac: p.head_mac,
      head_at: p.head_at,
      oldest_at: p.oldest_at,
      seal: p.seal,
    })
    .where('user_id', '=', p.user_id),
);

/** Says when a chain is looked at again for events that have expired. */
export const postponeSweep = statement<{ user_id: string; oldest_at: number | null }>()((db, p) =>
  db.updateTable('event_chains').set({ oldest_at: p.oldest_at }).where('user_id', '=', p.user_id),
);

/** Some accounts with events from before a moment, the oldest first. */
export const findExpiredChains = statement<{ before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('event_chains')
    .select('user_id')
    .where('oldest_at', '<', p.before)
    .orderBy('oldest_at')
    .limit(p.limit),
);

/** Events of an account after a number, oldest first. */
export const listEventsAfter = statement<{ user_id: string; after_seq: number; limit: number }>()((db, p) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('user_id', '=', p.user_id)
    .where('seq', '>', p.after_seq)
    .orderBy('seq')
    .limit(p.limit),
);

/** Events of an account after a number and a moment, oldest first. */
export const listEventsSince = statement<{ user_id: string; after_seq: number; since: number }>()((db, p) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('user_id', '=', p.user_id)
    .where('seq', '>', p.after_seq)
    .where('created_at', '>', p.since)
    .orderBy('seq'),
);

/** Replaces what an event tells, and its MAC. Only under the lock of its chain. */
export const updateEvent = statement<{ id: string; detail: string | null; mac: string }>()((db, p) =>
  db.updateTable('events').set({ detail: p.detail, mac: p.mac }).where('id', '=', p.id),
);

/** Events of an account before a number, newest first. */
export const listEventsBefore = statement<{ user_id: string; before_seq: number; limit: number }>()((db, p) =>
  db
    .selectFrom('events')
    .select(['id', 'type', 'created_at', 'session_id', 'ip_address', 'user_agent', 'detail', 'seq'])
    .where('user_id', '=', p.user_id)
    .where('seq', '<', p.before_seq)
    .orderBy('seq', 'desc')
    .limit(p.limit),
);

/** Deletes the events of an account up to a number. */
export const deleteEvents = statement<{ user_id: string; up_to_seq: number }>()((db, p) =>
  db.deleteFrom('events').where('user_id', '=', p.user_id).where('seq', '<=', p.up_to_seq).returning('id'),
);

/** Some accounts after an identifier, in its order. */
export const listAccounts = statement<{ after_id: string; limit: number }>()((db, p) =>
  db.selectFrom('users').select(['id']).where('id', '>', p.after_id).orderBy('id').limit(p.limit),
);

export const findAccount = statement<{ id: string }>()((db, p) =>
  db.selectFrom('users').select('id').where('id', '=', p.id),
);

/** Every stored event of the user, oldest first. */
export const exportEvents = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('events').selectAll().where('user_id', '=', p.user_id).orderBy('created_at').orderBy('id'),
);
