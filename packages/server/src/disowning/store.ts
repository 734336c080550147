import { sql } from 'kysely';
import { statement } from '../database/statement.ts';

/** Uses the link of a notice; a row for exactly one of those who do. */
export const takeNotice = statement<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('notices')
    .set({ disowned_at: p.now })
    .where('id', '=', p.id)
    .where('disowned_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returningAll(),
);

/** A notice whose link is still good, used or not. */
export const findNotice = statement<{ id: string; now: number }>()((db, p) =>
  db.selectFrom('notices').selectAll().where('id', '=', p.id).where('expires_at', '>', p.now),
);

/** Notes which address came back, for whoever uses the link again. */
export const noteRestored = statement<{ id: string; restored_email: string }>()((db, p) =>
  db.updateTable('notices').set({ restored_email: p.restored_email }).where('id', '=', p.id),
);

/** Ends a session for good, whatever state it is in; a row if it had not been ended alone before. */
export const endSession = statement<{ id: string; user_id: string; now: number }>()((db, p) =>
  db
    .updateTable('sessions')
    .set((e) => ({
      revoked_at: p.now,
      idle_expires_at: sql<number>`case when ${e.ref('idle_expires_at')} < ${p.now} then ${e.ref('idle_expires_at')} else ${p.now} end`,
    }))
    .where('id', '=', p.id)
    .where('user_id', '=', p.user_id)
    .where('revoked_at', 'is', null)
    .returning('id'),
);

/** Denies the device logins that a session approved and that no device has picked up. */
export const denyApproved = statement<{ session_id: string; user_id: string }>()((db, p) =>
  db
    .updateTable('device_authorizations')
    .set({ status: 'denied' })
    .where('user_id', '=', p.user_id)
    .where('approved_by', '=', p.session_id)
    .where('status', '=', 'approved'),
);

/** Removes the passkeys that a session has added since a moment, and says which. */
export const deletePasskeysAdded = statement<{ session_id: string; user_id: string; since: number }>()(
  (db, p) =>
    db
      .deleteFrom('passkeys')
      .where('user_id', '=', p.user_id)
      .where('session_id', '=', p.session_id)
      .where('created_at', '>=', p.since)
      .returning(['id', 'name']),
);

/** The sessions that a session led to since a moment: devices it approved, and its successors in its browser. */
export const listChildren = statement<{
  session_id: string;
  user_id: string;
  since: number;
  limit: number;
}>()((db, p) =>
  db
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', p.user_id)
    .where('parent_session_id', '=', p.session_id)
    .where('created_at', '>=', p.since)
    .limit(p.limit),
);

/** The sessions that were started with a passkey. */
export const listStartedWith = statement<{ passkey_id: string; user_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', p.user_id)
    .where('passkey_id', '=', p.passkey_id)
    .limit(p.limit),
);

/** Ends all logins of an account. */
export const endAllSessions = statement<{ user_id: string }>()((db, p) =>
  db
    .updateTable('users')
    .set((e) => ({ session_epoch: e('session_epoch', '+', 1) }))
    .where('id', '=', p.user_id),
);
