import { type Expression, type Kysely, sql } from 'kysely';
import { lockedAccountId } from '../../accounts/locks.ts';
import { lookup, update } from '../../platform/database/gather.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, statement, textsOf } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';

type Polled = 'last_poll_at' | 'redeemed_at' | 'idempotency_hash';
type Approved =
  | 'status'
  | 'passkey_id'
  | 'user_id'
  | 'session_epoch'
  | 'approved_by'
  | `confirmation_${string}`;

/** Changes an authorization that has this status, so that of concurrent changes one has an effect. */
const change = (
  db: Kysely<Tables>,
  id: Expression<string>,
  status: Tables['device_authorizations']['status'],
) => db.updateTable('device_authorizations').where('id', '=', id).where('status', '=', status);

/** Inserts a device authorization; no row when its user code is already in use. */
export const insertAuthorization = statement<Omit<Tables['device_authorizations'], Polled | Approved>>()(
  (db, p) =>
    db
      .insertInto('device_authorizations')
      .values({
        ...named(p, ['id', 'session_id', 'user_code_hash', 'client_id', 'client_name', 'device_name']),
        ...named(p, ['scope', 'resource', 'ip_address', 'user_agent', 'created_at', 'expires_at']),
        ...named(p, ['interval_seconds', 'can_confirm']),
        status: 'pending',
        last_poll_at: 0,
        confirmation_tries: 0,
      })
      .onConflict((c) => c.column('user_code_hash').doNothing())
      .returning('id'),
);

export const findAuthorization = lookup((db, p) =>
  db.selectFrom('device_authorizations').selectAll().where('id', '=', p.id),
);

/** The pending authorization whose user code has this hash, expired or not. */
export const findPending = lookup((db, p) =>
  db
    .selectFrom('device_authorizations')
    .selectAll()
    .where('user_code_hash', '=', p.id)
    .where('status', '=', 'pending'),
);

/**
 * Accepts a poll exactly when `decidePoll` says `accept`, and of concurrent polls only one. The interval
 * counts from `answered_at`, in the future for a held poll: until then any other is too early, on every node.
 */
export const acceptPoll = update('device_authorizations', {
  id: 'text',
  now: 'bigint',
  due_by: 'bigint',
  answered_at: 'bigint',
})((db, p) =>
  change(db, p.id, 'pending')
    .set({ last_poll_at: p.answered_at })
    .where('expires_at', '>', p.now)
    .where(sql<boolean>`last_poll_at + interval_seconds * 1000 <= ${p.due_by}`)
    .returning('id'),
);

/** Lets the interval count from another moment than `planned_at`, because a held poll ended before. */
export const endHeldPoll = statement<{ id: string; planned_at: number; ended_at: number }>()((db, p) =>
  change(db, p.id, 'pending').set({ last_poll_at: p.ended_at }).where('last_poll_at', '=', p.planned_at),
);

/** The given authorizations that are no longer pending. `ids` is a JSON array. */
export const findDecided = statement<{ ids: string }>()((db, p, dialect) =>
  db
    .selectFrom('device_authorizations')
    .select('id')
    .where('id', 'in', textsOf(p.ids, dialect))
    .where('status', '<>', 'pending'),
);

/**
 * Accepts a poll of an approved authorization that has to be confirmed, and counts its code before that is compared. A row for one of
 * the polls that saw the same last one. `tried` is added to the codes that a repeated poll is recognized by.
 */
export const countConfirmation = statement<{
  id: string;
  seen_poll_at: number;
  now: number;
  tries: number;
  tried: string | null;
}>()((db, p) => {
  const tried = sql<string | null>`cast(${p.tried} as text)`;
  return change(db, p.id, 'approved')
    .set({
      last_poll_at: p.now,
      confirmation_tries: sql<number>`confirmation_tries + cast(${p.tries} as integer)`,
      confirmation_tried: sql<
        string | null
      >`coalesce(coalesce(confirmation_tried || ' ', '') || ${tried}, confirmation_tried)`,
    })
    .where('last_poll_at', '=', p.seen_poll_at)
    .returning('confirmation_tries');
});

/** Approved becomes denied, in the transaction that counted the last allowed confirmation code. */
export const denyUnconfirmed = statement<{ id: string }>()((db, p) =>
  db.updateTable('device_authorizations').set({ status: 'denied' }).where('id', '=', p.id),
);

/** Lengthens the interval after an early poll and leaves the time of the last accepted poll alone. */
export const growInterval = statement<{ id: string; by_seconds: number }>()((db, p) =>
  db
    .updateTable('device_authorizations')
    .set((e) => ({ interval_seconds: e('interval_seconds', '+', p.by_seconds) }))
    .where('id', '=', p.id)
    .where('status', 'in', ['pending', 'approved'])
    .returning('interval_seconds'),
);

/** What the decision about an authorization is recorded with. */
const decided = ['id', 'client_name', 'device_name', 'ip_address', 'scope', 'resource'] as const;

/**
 * Approves a pending authorization for a session of a locked account; a row for one decision. It takes the
 * session's epoch, so that revoking all sessions also revokes it, whichever commits first.
 */
export const approve = statement<{
  id: string;
  session_id: string;
  now: number;
  confirmation_hash: string | null;
  passkey_id: string | null;
}>()((db, p) =>
  change(db, p.id, 'pending')
    .set((e) => ({
      passkey_id: p.passkey_id,
      status: 'approved' as const,
      confirmation_hash: p.confirmation_hash,
      approved_by: p.session_id,
      user_id: e.selectFrom('sessions').select('user_id').where('id', '=', p.session_id),
      session_epoch: e.selectFrom('sessions').select('session_epoch').where('id', '=', p.session_id),
    }))
    .where('expires_at', '>', p.now)
    .returning(decided),
);

/** Denies a pending authorization; a row for exactly one decision. */
export const deny = statement<{ id: string; now: number }>()((db, p) =>
  change(db, p.id, 'pending').set({ status: 'denied' }).where('expires_at', '>', p.now).returning(decided),
);

const approverOf = (db: Kysely<Tables>, id: Expression<string>) =>
  db
    .selectFrom('device_authorizations as approved')
    .select('approved.user_id')
    .where('approved.id', '=', id)
    .$asScalar();

/** Locks the account and redeems an approved authorization, confirmed if it has to be; a row for exactly one of concurrent polls. */
export const redeem = statement<{
  id: string;
  now: number;
  idempotency_hash: string | null;
}>()((db, p, dialect) =>
  change(db, p.id, 'approved')
    .set({ status: 'redeemed', redeemed_at: p.now, idempotency_hash: p.idempotency_hash })
    .where('user_id', '=', lockedAccountId(db, approverOf(db, p.id), dialect))
    .where('expires_at', '>', p.now)
    .returning('id'),
);

/** Pending becomes cancelled, unless a decision came first. */
export const cancelPending = statement<{ id: string }>()((db, p) =>
  change(db, p.id, 'pending').set({ status: 'cancelled' }).returning('id'),
);

/** Locks the account that approved and turns approved into cancelled, unless a poll has redeemed it first. */
export const cancelApproved = statement<{ id: string }>()((db, p, dialect) =>
  change(db, p.id, 'approved')
    .set({ status: 'cancelled' })
    .where('user_id', '=', lockedAccountId(db, approverOf(db, p.id), dialect))
    .returning(['user_id', 'session_id']),
);

/** Approved becomes denied before a device has redeemed it, by the id of the session it would start. */
export const withdrawApproval = statement<{ session_id: string; user_id: string }>()((db, p) =>
  db
    .updateTable('device_authorizations')
    .set({ status: 'denied' })
    .where('user_id', '=', p.user_id)
    .where('session_id', '=', p.session_id)
    .where('status', '=', 'approved')
    .returning('id'),
);

/** Approved becomes denied, for everything that a locked account approved and no device has redeemed. */
export const denyApproved = statement<{ user_id: string; now: number }>()((db, p) =>
  db
    .updateTable('device_authorizations')
    .set({ status: 'denied' })
    .where('user_id', '=', p.user_id)
    .where('status', '=', 'approved')
    .where('expires_at', '>', p.now)
    .returning(['client_name', 'device_name']),
);

export const sweepAuthorizations = sweepStatement()('device_authorizations', 'id', (e, p) =>
  e('expires_at', '<', p.before),
);
