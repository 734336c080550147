import type { ExpressionBuilder } from 'kysely';
import type { Tables } from '../../platform/database/schema.ts';
import { named, type Slots, statement } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';
import { textsOf } from '../../platform/database/texts.ts';

const isUnconfirmed = (e: ExpressionBuilder<Tables, 'email_changes'>) =>
  e.and([e('changed_at', 'is', null), e('voided_at', 'is', null)]);

/** Whether a link can still be used. */
const isPending = (
  e: ExpressionBuilder<Tables, 'email_changes'>,
  p: Slots<{ max_wrong_addresses: number; now: number }>,
) => e.and([isUnconfirmed(e), e('expires_at', '>', p.now), e('wrong_addresses', '<', p.max_wrong_addresses)]);

/** Voids the unconfirmed changes of an account. */
export const voidPendingChanges = statement<{ user_id: string; now: number }>()((db, p) =>
  db
    .updateTable('email_changes')
    .set({ voided_at: p.now })
    .where('user_id', '=', p.user_id)
    .where(isUnconfirmed),
);

export const insertChange = statement<
  Omit<
    Tables['email_changes'],
    `old_email${string}` | 'changed_at' | 'voided_at' | 'undone_at' | 'wrong_addresses'
  >
>()((db, p) =>
  db.insertInto('email_changes').values({
    ...named(p, ['id', 'user_id', 'session_id', 'session_epoch', 'new_email', 'new_email_key']),
    ...named(p, ['created_at', 'expires_at']),
    wrong_addresses: 0,
  }),
);

export const findChange = statement<{ id: string }>()((db, p) =>
  db.selectFrom('email_changes').selectAll().where('id', '=', p.id),
);

/** Counts a wrong current address against a pending link; no row once the maximum is reached. */
export const countWrongAddress = statement<{ id: string; max_wrong_addresses: number; now: number }>()(
  (db, p) =>
    db
      .updateTable('email_changes')
      .set((e) => ({ wrong_addresses: e('wrong_addresses', '+', 1) }))
      .where('id', '=', p.id)
      .where((e) => isPending(e, p))
      .returning('id'),
);

/**
 * Spends a pending link. Exactly one call gets a row, and only while the session that requested the change has not been
 * revoked. From then on, `expires_at` is when the undo expires.
 */
export const spendChange = statement<{
  id: string;
  old_email: string;
  old_email_key: string;
  max_wrong_addresses: number;
  now: number;
  undo_until: number;
}>()((db, p) =>
  db
    .updateTable('email_changes')
    .set({ ...named(p, ['old_email', 'old_email_key']), changed_at: p.now, expires_at: p.undo_until })
    .where('id', '=', p.id)
    .where((e) => isPending(e, p))
    .where((e) =>
      e.exists(
        e
          .selectFrom('sessions as s')
          .innerJoin('users as u', 'u.id', 's.user_id')
          .select('s.id')
          .whereRef('s.id', '=', 'email_changes.session_id')
          .where('s.revoked_at', 'is', null)
          .whereRef('u.session_epoch', '=', 'email_changes.session_epoch'),
      ),
    )
    .returning('id'),
);

/** Voids the unconfirmed changes that these sessions requested. */
export const voidChangesOf = statement<{ user_id: string; session_ids: string; now: number }>()(
  (db, p, dialect) =>
    db
      .updateTable('email_changes')
      .set({ voided_at: p.now })
      .where('user_id', '=', p.user_id)
      .where('session_id', 'in', textsOf(p.session_ids, dialect))
      .where(isUnconfirmed),
);

/** The changes of an account that were confirmed since a moment and not undone, oldest first. */
export const listConfirmed = statement<{ user_id: string; since: number }>()((db, p) =>
  db
    .selectFrom('email_changes')
    .selectAll()
    .where('user_id', '=', p.user_id)
    .where('changed_at', '>', p.since)
    .where('undone_at', 'is', null)
    .orderBy('changed_at')
    .orderBy('id'),
);

/** Marks a change and all later ones of the account as undone; returns them. */
export const markUndone = statement<{ user_id: string; changed_since: number; now: number }>()((db, p) =>
  db
    .updateTable('email_changes')
    .set({ undone_at: p.now })
    .where('user_id', '=', p.user_id)
    .where('changed_at', '>=', p.changed_since)
    .where('undone_at', 'is', null)
    .returning(['id', 'new_email', 'new_email_key']),
);

/**
 * Deletes a batch of changes whose link, or whose time to undo, expired before a moment. Confirmed ones are kept until
 * `changed_before`, because they tell which address the account had first.
 */
export const sweepEmailChanges = sweepStatement<{ before: number; changed_before: number }>()(
  'email_changes',
  'id',
  (e, p) =>
    e.and([
      e('expires_at', '<', p.before),
      e.or([e('changed_at', 'is', null), e('changed_at', '<', p.changed_before)]),
    ]),
);

/** The former addresses of an account that are still reserved for it. */
export const listReservedEmails = statement<{ user_id: string; now: number }>()((db, p) =>
  db
    .selectFrom('email_changes')
    .select('old_email_key')
    .where('user_id', '=', p.user_id)
    .where('undone_at', 'is', null)
    .where('changed_at', 'is not', null)
    .where('expires_at', '>', p.now),
);
