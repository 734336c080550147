import { statement } from '../../platform/database/statement.ts';
import { textsOf } from '../../platform/database/texts.ts';

/** Voids the changes of an account that still wait for their click. */
export const voidPendingChanges = statement<{ user_id: string; now: number }>()((db, p) =>
  db
    .updateTable('email_changes')
    .set({ voided_at: p.now })
    .where('user_id', '=', p.user_id)
    .where('changed_at', 'is', null)
    .where('voided_at', 'is', null),
);

export const insertChange = statement<{
  id: string;
  user_id: string;
  session_id: string;
  session_epoch: number;
  new_email: string;
  new_email_key: string;
  now: number;
  expires_at: number;
}>()((db, p) =>
  db.insertInto('email_changes').values({
    id: p.id,
    user_id: p.user_id,
    session_id: p.session_id,
    session_epoch: p.session_epoch,
    new_email: p.new_email,
    new_email_key: p.new_email_key,
    created_at: p.now,
    expires_at: p.expires_at,
    wrong_addresses: 0,
  }),
);

export const findChange = statement<{ id: string }>()((db, p) =>
  db.selectFrom('email_changes').selectAll().where('id', '=', p.id),
);

/** Counts a wrong address given with an open link; a row while the link has not had that many. */
export const countWrongAddress = statement<{ id: string; max_wrong_addresses: number; now: number }>()(
  (db, p) =>
    db
      .updateTable('email_changes')
      .set((e) => ({ wrong_addresses: e('wrong_addresses', '+', 1) }))
      .where('id', '=', p.id)
      .where('changed_at', 'is', null)
      .where('voided_at', 'is', null)
      .where('expires_at', '>', p.now)
      .where('wrong_addresses', '<', p.max_wrong_addresses)
      .returning('id'),
);

/**
 * Spends the link of a change; a row for exactly one of those who use it, only before too many wrong addresses were
 * given with it, and only while nobody has ended the login that asked for it. From here on `expires_at` is the end of the undo.
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
    .set({
      changed_at: p.now,
      old_email: p.old_email,
      old_email_key: p.old_email_key,
      expires_at: p.undo_until,
    })
    .where('id', '=', p.id)
    .where('changed_at', 'is', null)
    .where('voided_at', 'is', null)
    .where('expires_at', '>', p.now)
    .where('wrong_addresses', '<', p.max_wrong_addresses)
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

/** Voids the changes that these sessions asked for and that still wait for their click. */
export const voidChangesOf = statement<{ user_id: string; session_ids: string; now: number }>()(
  (db, p, dialect) =>
    db
      .updateTable('email_changes')
      .set({ voided_at: p.now })
      .where('user_id', '=', p.user_id)
      .where('session_id', 'in', textsOf(p.session_ids, dialect))
      .where('changed_at', 'is', null)
      .where('voided_at', 'is', null),
);

/** The changes of an account that were made since a moment and not undone, oldest first. */
export const listMade = statement<{ user_id: string; since: number }>()((db, p) =>
  db
    .selectFrom('email_changes')
    .selectAll()
    .where('user_id', '=', p.user_id)
    .where('changed_at', '>', p.since)
    .where('undone_at', 'is', null)
    .orderBy('changed_at')
    .orderBy('id'),
);

/** Marks a change and all later ones of the account as undone, and says which. */
export const markUndone = statement<{ user_id: string; changed_since: number; now: number }>()((db, p) =>
  db
    .updateTable('email_changes')
    .set({ undone_at: p.now })
    .where('user_id', '=', p.user_id)
    .where('changed_at', '>=', p.changed_since)
    .where('undone_at', 'is', null)
    .returning(['id', 'new_email', 'new_email_key']),
);

/** Takes back the notices that went to the addresses of undone changes, links included, except one. */
export const deleteNoticesSince = statement<{ user_id: string; after: number; except_id: string }>()(
  (db, p) =>
    db
      .deleteFrom('notices')
      .where('user_id', '=', p.user_id)
      .where('created_at', '>', p.after)
      .where('id', '<>', p.except_id),
);

/**
 * Deletes some changes whose link ended before a moment, and of those that were made only what was changed before
 * another one: they tell which address the account had first.
 */
export const sweepEmailChanges = statement<{ before: number; changed_before: number; limit: number }>()(
  (db, p, dialect) =>
    db
      .deleteFrom('email_changes')
      .where('id', 'in', (e) =>
        e
          .selectFrom('email_changes')
          .select('id')
          .where('expires_at', '<', p.before)
          .where((w) => w.or([w('changed_at', 'is', null), w('changed_at', '<', p.changed_before)]))
          .limit(p.limit)
          .$if(dialect === 'postgres', (q) => q.forUpdate().skipLocked()),
      )
      .returning('id'),
);
