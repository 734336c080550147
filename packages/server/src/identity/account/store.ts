import { profileFields } from '@latchkey/contract/account';
import { type AliasableExpression, type Expression, expressionBuilder, type Kysely, sql } from 'kysely';
import type { Tables } from '../../platform/database/schema.ts';
import { bigint, named, statement } from '../../platform/database/statement.ts';
import { isActive } from '../../sessions/status.ts';

export const findUser = statement<{ id: string }>()((db, p) =>
  db.selectFrom('users').selectAll().where('id', '=', p.id),
);

export const findUserByEmail = statement<{ email_key: string }>()((db, p) =>
  db.selectFrom('users').selectAll().where('email_key', '=', p.email_key),
);

export const listUsers = statement<{ after: string; limit: number }>()((db, p) =>
  db.selectFrom('users').selectAll().where('email_key', '>', p.after).orderBy('email_key').limit(p.limit),
);

export const lockUserByAddress = statement<{ email_key: string }>()((db, p, dialect) =>
  db
    .selectFrom('users')
    .selectAll()
    .where('email_key', '=', p.email_key)
    .$if(dialect === 'postgres', (q) => q.forUpdate()),
);

export const findUserByHandle = statement<{ webauthn_user_handle: string }>()((db, p) =>
  db.selectFrom('users').select('id').where('webauthn_user_handle', '=', p.webauthn_user_handle),
);

/** The accounts that had this address and can still undo changing it. */
const reservedFor = (db: Kysely<Tables>, email_key: Expression<string>, now: Expression<number>) =>
  db
    .selectFrom('email_changes')
    .select('user_id')
    .where('old_email_key', '=', email_key)
    .where('undone_at', 'is', null)
    .where('expires_at', '>', now);

export const findReservedEmail = statement<{ email_key: string; now: number }>()((db, p) =>
  reservedFor(db, p.email_key, p.now),
);

const identifying = ['id', 'email', 'email_key', 'name', 'locale', 'webauthn_user_handle'] as const;

/** Creates an account unless the address is taken or reserved. Of parallel calls, exactly one gets a row. */
export const insertUser = statement<Pick<Tables['users'], (typeof identifying)[number]> & { now: number }>()(
  (db, p) => {
    const e = expressionBuilder<Tables, never>();
    const row = {
      ...named(p, identifying),
      email_verified: e.lit(1),
      revision: e.lit(1),
      session_epoch: e.lit(0),
      created_at: bigint(p.now),
      updated_at: bigint(p.now),
    } satisfies { [Column in keyof Tables['users']]?: Expression<Tables['users'][Column]> };
    return db
      .insertInto('users')
      .columns(Object.keys(row) as (keyof typeof row)[])
      .expression(
        db
          .selectNoFrom(
            Object.entries<AliasableExpression<unknown>>(row).map(([column, value]) => value.as(column)),
          )
          .where(e.not(e.exists(reservedFor(db, p.email_key, p.now)))),
      )
      .onConflict((c) => c.column('email_key').doNothing())
      .returning('id');
  },
);

const profile = [...profileFields, 'former_languages'] as const;

/** Replaces the profile of a locked account. */
export const updateProfile = statement<
  Pick<Tables['users'], 'id' | (typeof profile)[number]> & { now: number }
>()((db, p) =>
  db
    .updateTable('users')
    .set((e) => ({
      ...named(p, profile),
      revision: e('revision', '+', 1),
      updated_at: laterOf(e.ref('updated_at'), p.now),
    }))
    .where('id', '=', p.id)
    .returningAll(),
);

/** Keeps the times of one row from running backwards when the clocks of two nodes differ. */
const laterOf = (stored: Expression<number>, now: Expression<number>) =>
  sql<number>`case when ${stored} > ${now} then ${stored} else ${now} end`;

/** Disables an account and ends all its sessions in one write; no row if it is already disabled. */
export const disableUser = statement<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('users')
    .set((e) => ({ disabled_at: p.now, session_epoch: e('session_epoch', '+', 1) }))
    .where('id', '=', p.id)
    .where('disabled_at', 'is', null)
    .returning('id'),
);

/** Ends all sessions and approved device authorizations of an account; no row when it is gone. */
export const endAllSessions = statement<{ id: string }>()((db, p) =>
  db
    .updateTable('users')
    .set((e) => ({ session_epoch: e('session_epoch', '+', 1) }))
    .where('id', '=', p.id)
    .returning('id'),
);

export const enableUser = statement<{ id: string }>()((db, p) =>
  db
    .updateTable('users')
    .set({ disabled_at: null })
    .where('id', '=', p.id)
    .where('disabled_at', 'is not', null)
    .returning('id'),
);

/**
 * How many accounts are in a page of accounts by ascending id, the id of the last one, and how many active
 * sign-ins they have in browsers, on devices and to applications. The id is null behind the last page.
 */
export const countPage = statement<{ after: string; now: number; limit: number }>()((db, p, dialect) => {
  const page = db
    .selectFrom('users')
    .select('id')
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit)
    .as('page');
  return db.selectFrom(page).select((e) => [
    e.fn.max('page.id').as('last_id'),
    e.fn.countAll<number>().as('accounts'),
    e.fn
      .sum<number | null>(
        e
          .selectFrom('sessions')
          .select((f) => f.fn.countAll<number>().as('count'))
          .whereRef('sessions.user_id', '=', 'page.id')
          .where('sessions.kind', 'in', ['browser', 'device', 'app'])
          .where(isActive(p.now, dialect)),
      )
      .as('sessions'),
  ]);
});

/** Replaces the address of a locked account; no row if another account has the new one. */
export const replaceEmail = statement<{ id: string; email: string; email_key: string; now: number }>()(
  (db, p) =>
    db
      .updateTable('users')
      .set((e) => ({
        email: p.email,
        email_key: p.email_key,
        revision: e('revision', '+', 1),
        updated_at: laterOf(e.ref('updated_at'), p.now),
      }))
      .where('id', '=', p.id)
      .where((e) =>
        e.not(
          e.exists(
            e
              .selectFrom('users as other')
              .select('other.id')
              .where('other.email_key', '=', p.email_key)
              .where('other.id', '<>', p.id),
          ),
        ),
      )
      .returningAll(),
);

/**
 * Deletes an account. Its sessions, passkeys, device authorizations, memberships, events, changes of address,
 * notices and notice windows are deleted with it (ON DELETE CASCADE).
 */
export const deleteUser = statement<{ id: string }>()((db, p) =>
  db.deleteFrom('users').where('id', '=', p.id).returning('id'),
);
