import { sql } from 'kysely';
import { statement } from '../../platform/database/statement.ts';
import { textsOf } from '../../platform/database/texts.ts';

/** Uses the link of a notice; a row for exactly one of those who do. */
export const takeNotice = statement<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('notices')
    .set({ disowned_at: p.now })
    .where('id', '=', p.id)
    .where('disowned_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returning('id'),
);

/** Uses the link for the login that approved the device, after it was used for the device; a row for exactly one. */
export const takeApprover = statement<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('notices')
    .set({ approver_disowned_at: p.now })
    .where('id', '=', p.id)
    .where('disowned_at', 'is not', null)
    .where('approver_disowned_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returning('id'),
);

/** A notice whose link is still good, used or not. */
export const findNotice = statement<{ id: string; now: number }>()((db, p) =>
  db.selectFrom('notices').selectAll().where('id', '=', p.id).where('expires_at', '>', p.now),
);

/** A notice, for the mail about what its link undid. */
export const findUsedNotice = statement<{ id: string }>()((db, p) =>
  db.selectFrom('notices').selectAll().where('id', '=', p.id).where('disowned_at', 'is not', null),
);

/** Notes what was undone, for whoever uses the link again. */
export const noteOutcome = statement<{ id: string; outcome: string; restored_email: string | null }>()(
  (db, p) =>
    db
      .updateTable('notices')
      .set({ outcome: p.outcome, restored_email: p.restored_email })
      .where('id', '=', p.id),
);

/**
 * All stored logins of an account with what each came of. What an earlier release started names only the passkey it
 * used: that leads to the login that added it while the passkey exists.
 */
export const listLogins = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('sessions as s')
    .leftJoin('passkeys as k', 'k.id', 's.passkey_id')
    .select((e) => [
      's.id',
      's.kind',
      's.ip_address',
      's.user_agent',
      's.created_at',
      's.distrusted_as',
      's.client_name',
      's.device_name',
      's.revoked_at',
      's.idle_expires_at',
      's.session_epoch',
      's.parent_session_id',
      's.email_change_id',
      e.fn.coalesce('s.passkey_added_by', 'k.session_id').as('passkey_added_by'),
    ])
    .where('s.user_id', '=', p.user_id)
    .orderBy('s.created_at', 'desc'),
);

/** The login that approved a device; no row where it was disowned already or is not stored any more. */
export const findApprover = statement<{ session_id: string; user_id: string }>()((db, p) =>
  db
    .selectFrom('sessions as device')
    .innerJoin('sessions as approver', 'approver.id', 'device.parent_session_id')
    .select(['approver.id', 'approver.created_at', 'approver.ip_address', 'approver.user_agent'])
    .where('device.id', '=', p.session_id)
    .where('device.user_id', '=', p.user_id)
    .where('device.kind', '=', 'device')
    .where('approver.user_id', '=', p.user_id)
    .where((e) =>
      e.or([e('approver.distrusted_as', 'is', null), e('approver.distrusted_as', '<>', 'disowned')]),
    ),
);

/** Ends logins for good, whatever state they are in. They make no place familiar from now on. */
export const endLogins = statement<{ user_id: string; ids: string; now: number }>()((db, p, dialect) =>
  db
    .updateTable('sessions')
    .set((e) => ({
      revoked_at: sql<number>`coalesce(${e.ref('revoked_at')}, cast(${p.now} as bigint))`,
      idle_expires_at: sql<number>`case when ${e.ref('idle_expires_at')} < ${p.now} then ${e.ref('idle_expires_at')} else ${p.now} end`,
      distrusted_as: 'disowned' as const,
    }))
    .where('user_id', '=', p.user_id)
    .where('id', 'in', textsOf(p.ids, dialect)),
);

/** Denies the device logins that these logins approved and that no device has picked up. */
export const denyApproved = statement<{ user_id: string; ids: string; now: number }>()((db, p, dialect) =>
  db
    .updateTable('device_authorizations')
    .set({ status: 'denied' })
    .where('user_id', '=', p.user_id)
    .where('approved_by', 'in', textsOf(p.ids, dialect))
    .where('status', '=', 'approved')
    .where('expires_at', '>', p.now)
    .returning(['client_name', 'device_name']),
);

/** Removes the passkeys that these logins added, and says which. */
export const deletePasskeysAdded = statement<{ user_id: string; ids: string }>()((db, p, dialect) =>
  db
    .deleteFrom('passkeys')
    .where('user_id', '=', p.user_id)
    .where('session_id', 'in', textsOf(p.ids, dialect))
    .returning(['id', 'name', 'session_id']),
);

/** Ends all logins of an account, and every device login approved but not picked up. */
export const endAllSessions = statement<{ user_id: string }>()((db, p) =>
  db
    .updateTable('users')
    .set((e) => ({ session_epoch: e('session_epoch', '+', 1) }))
    .where('id', '=', p.user_id),
);
