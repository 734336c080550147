import type { ExpressionBuilder } from 'kysely';
import { addressBucket, lockOnAddress } from '../../accounts/locks.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, type Slots, statement } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';
import { isUnrevokedSession } from '../../sessions/status.ts';

const isUnconfirmed = (e: ExpressionBuilder<Tables, 'email_changes'>) =>
  e.and([e('changed_at', 'is', null), e('voided_at', 'is', null)]);

const isPending = (
  e: ExpressionBuilder<Tables, 'email_changes'>,
  p: Slots<{ max_wrong_addresses: number; now: number }>,
) => e.and([isUnconfirmed(e), e('expires_at', '>', p.now), e('wrong_addresses', '<', p.max_wrong_addresses)]);

export const voidPendingChanges = statement<{ user_id: string; now: number }>()((db, p) =>
  db
    .updateTable('email_changes')
    .set({ voided_at: p.now })
    .where('user_id', '=', p.user_id)
    .where(isUnconfirmed)
    .returning(['changed_at', 'expires_at', 'wrong_addresses']),
);

export const insertChange = statement<
  Omit<
    Tables['email_changes'],
    `old_email${string}` | 'changed_at' | 'ordinal' | 'voided_at' | 'undone_at' | 'wrong_addresses'
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
 * Spends a pending link. Exactly one call gets a row, and only while the session that requested the change
 * has not been revoked. From then on, `expires_at` is when the undo expires.
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
    .where((e) => isUnrevokedSession(e.ref('email_changes.session_id')))
    .returning('id'),
);

/** The changes of an account that were confirmed and not undone, in their order. */
export const listConfirmed = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('email_changes')
    .select((e) => [
      e.ref('old_email').$notNull().as('old_email'),
      e.ref('old_email_key').$notNull().as('old_email_key'),
      e.ref('changed_at').$notNull().as('changed_at'),
      e.ref('ordinal').$notNull().as('ordinal'),
      'expires_at',
    ])
    .where('user_id', '=', p.user_id)
    .where('changed_at', 'is not', null)
    .where('undone_at', 'is', null)
    .orderBy('ordinal'),
);

export const markUndone = statement<{ user_id: string; since: number; now: number }>()((db, p) =>
  db
    .updateTable('email_changes')
    .set({ undone_at: p.now })
    .where('user_id', '=', p.user_id)
    .where('ordinal', '>=', p.since)
    .where('undone_at', 'is', null)
    .returning(['id', 'new_email', 'new_email_key']),
);

/**
 * Deletes a batch of changes whose link or time to undo expired before a moment. Confirmed changes are kept
 * until `changed_before`, because they tell which address the account had first.
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
    .select((e) => e.ref('old_email_key').$notNull().as('email_key'))
    .where('user_id', '=', p.user_id)
    .where('undone_at', 'is', null)
    .where('changed_at', 'is not', null)
    .where('expires_at', '>', p.now),
);

/** Locks the address and the former addresses of an account, always in one order, and returns their keys. */
export const lockAddresses = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('users')
        .select((f) => ['email_key', addressBucket(f.ref('email_key'), dialect).as('bucket')])
        .where('id', '=', p.user_id)
        .union(
          e
            .selectFrom('email_changes')
            .select((f) => {
              const key = f.ref('old_email_key').$notNull();
              return [key.as('email_key'), addressBucket(key, dialect).as('bucket')];
            })
            .where('user_id', '=', p.user_id)
            .where('old_email_key', 'is not', null),
        )
        .orderBy('bucket')
        // A limit keeps the planner from flattening the subquery, which would lose this order.
        .limit(1_000_000)
        .as('addresses'),
    )
    .select((e) => ['addresses.email_key', lockOnAddress(e.ref('addresses.email_key'), dialect).as('lock')]),
);
