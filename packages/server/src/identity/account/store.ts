import { type Expression, type Kysely, sql } from 'kysely';
import type { Tables } from '../../platform/database/schema.ts';
import { statement } from '../../platform/database/statement.ts';

const bigint = (value: Expression<number>) => sql<number>`cast(${value} as bigint)`;

const profileColumns = [
  'id',
  'email',
  'email_verified',
  'name',
  'avatar_url',
  'locale',
  'time_zone',
  'revision',
  'created_at',
  'updated_at',
] as const;

export const findUser = statement<{ id: string }>()((db, p) =>
  db.selectFrom('users').select(profileColumns).where('id', '=', p.id),
);

/** The same, with the row locked until the transaction ends: changes of one profile wait for each other. */
export const lockUser = statement<{ id: string }>()((db, p, dialect) =>
  db
    .selectFrom('users')
    .select(profileColumns)
    .where('id', '=', p.id)
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate()),
);

export const findUserByEmail = statement<{ email_key: string }>()((db, p) =>
  db.selectFrom('users').select(['id', 'disabled_at']).where('email_key', '=', p.email_key),
);

/** The account of an address, locked until the transaction ends. */
export const lockUserByAddress = statement<{ email_key: string }>()((db, p, dialect) =>
  db
    .selectFrom('users')
    .select('id')
    .where('email_key', '=', p.email_key)
    .$if(dialect === 'postgres', (q) => q.forUpdate()),
);

/** Whether an account that had this address can still have it back. */
const isReserved = (db: Kysely<Tables>, email_key: Expression<string>, now: Expression<number>) =>
  db
    .selectFrom('email_changes')
    .select('user_id')
    .where('old_email_key', '=', email_key)
    .where('undone_at', 'is', null)
    .where('expires_at', '>', now);

/** The accounts that had this address until lately and can have it back. */
export const findReservedEmail = statement<{ email_key: string; now: number }>()((db, p) =>
  isReserved(db, p.email_key, p.now),
);

/** Adds an account unless the address has one, or is kept for one; no row then, whoever was first. */
export const insertUser = statement<{
  id: string;
  email: string;
  email_key: string;
  name: string;
  webauthn_user_handle: string;
  now: number;
}>()((db, p) =>
  db
    .insertInto('users')
    .columns([
      'id',
      'email',
      'email_key',
      'email_verified',
      'name',
      'webauthn_user_handle',
      'revision',
      'session_epoch',
      'created_at',
      'updated_at',
    ])
    .expression(
      db
        .selectNoFrom((e) => [
          p.id.as('id'),
          p.email.as('email'),
          p.email_key.as('email_key'),
          e.lit(1).as('email_verified'),
          p.name.as('name'),
          p.webauthn_user_handle.as('webauthn_user_handle'),
          e.lit(1).as('revision'),
          e.lit(0).as('session_epoch'),
          bigint(p.now).as('created_at'),
          bigint(p.now).as('updated_at'),
        ])
        .where((e) => e.not(e.exists(isReserved(db, p.email_key, p.now)))),
    )
    .onConflict((c) => c.column('email_key').doNothing())
    .returning('id'),
);

/** Replaces the profile in a locked row. */
export const updateProfile = statement<{
  id: string;
  name: string;
  avatar_url: string | null;
  locale: string | null;
  time_zone: string | null;
  now: number;
}>()((db, p) =>
  db
    .updateTable('users')
    .set((e) => ({
      name: p.name,
      avatar_url: p.avatar_url,
      locale: p.locale,
      time_zone: p.time_zone,
      revision: e('revision', '+', 1),
      updated_at: laterOf(e.ref('updated_at'), p.now),
    }))
    .where('id', '=', p.id)
    .returning(profileColumns),
);

/** Times of one row never run backwards, whatever the clocks of the nodes say. */
const laterOf = (stored: Expression<number>, now: Expression<number>) =>
  sql<number>`case when ${stored} > ${now} then ${stored} else ${now} end`;

/** Shuts an account and ends all its logins for good, in one write; no row if it is shut already. */
export const disableUser = statement<{ email_key: string; now: number }>()((db, p) =>
  db
    .updateTable('users')
    .set((e) => ({ disabled_at: p.now, session_epoch: e('session_epoch', '+', 1) }))
    .where('email_key', '=', p.email_key)
    .where('disabled_at', 'is', null)
    .returning('id'),
);

/** Starts a new session epoch: sessions and approved device authorizations of earlier epochs are no longer valid. No row when the account is gone. */
export const endAllSessions = statement<{ id: string }>()((db, p) =>
  db
    .updateTable('users')
    .set((e) => ({ session_epoch: e('session_epoch', '+', 1) }))
    .where('id', '=', p.id)
    .returning('id'),
);

export const enableUser = statement<{ email_key: string }>()((db, p) =>
  db
    .updateTable('users')
    .set({ disabled_at: null })
    .where('email_key', '=', p.email_key)
    .where('disabled_at', 'is not', null)
    .returning('id'),
);

/** The ids of some accounts, in their order, after one of them. */
export const listUserIds = statement<{ after: string; limit: number }>()((db, p) =>
  db.selectFrom('users').select('id').where('id', '>', p.after).orderBy('id').limit(p.limit),
);

/** Replaces the address in a locked row unless another account has it; no row then. */
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
      .returning(profileColumns),
);

/**
 * Deletes an account. Its sessions, passkeys, device authorizations, memberships, events, changes of address, notices and
 * notice windows go with it (ON DELETE CASCADE).
 */
export const deleteUser = statement<{ id: string }>()((db, p) =>
  db.deleteFrom('users').where('id', '=', p.id).returning('id'),
);

/** Everything stored about the user in its own row. */
export const exportUser = statement<{ id: string }>()((db, p) =>
  db.selectFrom('users').selectAll().where('id', '=', p.id),
);
