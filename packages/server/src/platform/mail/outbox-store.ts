import type { ExpressionBuilder, Kysely } from 'kysely';
import { update } from '../database/gather.ts';
import type { PlaceInList } from '../database/pagination.ts';
import type { Tables } from '../database/schema.ts';
import { named, type Slots, statement, textsOf } from '../database/statement.ts';
import { sweepStatement } from '../database/sweep.ts';

type Mail = Tables['outbox'];

/** Somebody is waiting for the mail, so it is claimed before ordinary ones. */
export const urgentPriority = 0;
export const ordinaryPriority = 1;

/** Adds a mail to the outbox. Has no effect if a mail with this id exists. */
export const insertMail = statement<
  Omit<Mail, 'attempts' | 'refusals' | 'slow_attempts' | 'sent_at' | 'dead_at' | 'last_error'>
>()((db, p) =>
  db
    .insertInto('outbox')
    .values({
      ...named(p, ['id', 'template', 'recipient', 'recipient_key', 'user_id', 'reference', 'priority']),
      ...named(p, ['created_at', 'expires_at', 'next_attempt_at', 'trace_id', 'span_id']),
      attempts: 0,
      refusals: 0,
      slow_attempts: 0,
    })
    .onConflict((c) => c.column('id').doNothing()),
);

/** The mail is neither sent nor given up. */
const isWaiting = (e: ExpressionBuilder<Tables, 'outbox'>) =>
  e.and([e('sent_at', 'is', null), e('dead_at', 'is', null)]);

/** A limit that every number of slow attempts is below. */
export const anySlowAttempts = 2 ** 31 - 1;

/** Claims the due mail of a priority that has waited longest, until the lease expires. Of several workers, exactly one gets each mail. */
export const claimMail = statement<
  Pick<Mail, 'priority'> & { now: number; lease_until: number; max_slow_attempts: number }
>()((db, p, dialect) =>
  db
    .updateTable('outbox')
    .set((e) => ({ next_attempt_at: p.lease_until, attempts: e('attempts', '+', 1) }))
    .where('id', 'in', (e) =>
      e
        .selectFrom('outbox')
        .select('id')
        .where(isWaiting)
        .where('priority', '=', p.priority)
        .where('slow_attempts', '<=', p.max_slow_attempts)
        .where('next_attempt_at', '<=', p.now)
        .orderBy('next_attempt_at')
        .limit(1)
        .$if(dialect === 'postgres', (q) => q.forUpdate().skipLocked()),
    )
    .where('next_attempt_at', '<=', p.now)
    .returningAll(),
);

export const extendLease = statement<{ id: string; lease_until: number }>()((db, p) =>
  db.updateTable('outbox').set({ next_attempt_at: p.lease_until }).where('id', '=', p.id).where(isWaiting),
);

export const markSent = update('outbox', { id: 'text', now: 'bigint' })((db, p) =>
  db.updateTable('outbox').set({ sent_at: p.now, last_error: null }).where('id', '=', p.id).returning('id'),
);

export const markFailed = statement<
  Pick<Mail, 'id' | 'next_attempt_at' | 'last_error' | 'refusals' | 'slow_attempts'>
>()((db, p) =>
  db
    .updateTable('outbox')
    .set(named(p, ['next_attempt_at', 'last_error', 'refusals', 'slow_attempts']))
    .where('id', '=', p.id)
    .where('sent_at', 'is', null),
);

/** Turns a mail that is no longer needed, or that the mail server keeps refusing, into a dead letter. */
export const markDead = statement<Pick<Mail, 'id' | 'last_error' | 'refusals'> & { now: number }>()((db, p) =>
  db
    .updateTable('outbox')
    .set({ dead_at: p.now, last_error: p.last_error, refusals: p.refusals })
    .where('id', '=', p.id)
    .where('sent_at', 'is', null),
);

/** The number of waiting mails up to a limit, read from their index alone. */
export const countWaiting = statement<{ limit: number }>()((db, p) =>
  db
    .selectFrom((e) =>
      e.selectFrom('outbox').select('next_attempt_at').where(isWaiting).limit(p.limit).as('waiting'),
    )
    .select((e) => e.fn.countAll<number>().as('count')),
);

export const listSent = statement<{ limit: number }>()((db, p) =>
  db
    .selectFrom('outbox')
    .selectAll()
    .where('sent_at', 'is not', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit),
);

export const findSent = statement<{ id: string }>()((db, p) =>
  db.selectFrom('outbox').selectAll().where('id', '=', p.id).where('sent_at', 'is not', null),
);

/** Lists waiting mails and dead letters, newest first. */
export const listUnsent = statement<{ limit: number }>()((db, p) =>
  db
    .selectFrom('outbox')
    .select(['id', 'template', 'created_at', 'next_attempt_at', 'attempts', 'dead_at', 'last_error'])
    .where('sent_at', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(p.limit),
);

/** Mails from a place in the list on, newest first. The first condition is where reading the index starts. */
const listFrom = (db: Kysely<Tables>, p: Slots<PlaceInList>) =>
  db
    .selectFrom('outbox')
    .select(['id', 'template', 'recipient', 'created_at', 'expires_at', 'sent_at', 'dead_at'])
    .where('created_at', '<=', p.from_time)
    .where((e) => e.or([e('created_at', '<', p.from_time), e('id', '<', p.from_id)]))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit);

export const listMailsToAddress = statement<{ email_key: string } & PlaceInList>()((db, p) =>
  listFrom(db, p).where('recipient_key', '=', p.email_key),
);

/** A page of the mails about an account to any other address. */
export const listMailsAboutUser = statement<{ user_id: string; email_key: string } & PlaceInList>()((db, p) =>
  listFrom(db, p).where('user_id', '=', p.user_id).where('recipient_key', '<>', p.email_key),
);

/** Deletes every mail about an account or to one of these addresses, waiting, sent or given up. `email_keys` is a JSON array. */
export const deleteMailsOf = statement<{ user_id: string; email_keys: string }>()((db, p, dialect) =>
  db
    .deleteFrom('outbox')
    .where((e) =>
      e.or([e('user_id', '=', p.user_id), e('recipient_key', 'in', textsOf(p.email_keys, dialect))]),
    ),
);

/** Deletes a batch of mails that were created before a moment and are either sent or expired long enough ago. */
export const sweepOutbox = sweepStatement<{ sent_before: number; dead_before: number }>()(
  'outbox',
  'id',
  (e, p) =>
    e.and([
      e('created_at', '<', p.sent_before),
      e.or([e('sent_at', 'is not', null), e('expires_at', '<', p.dead_before)]),
    ]),
);
