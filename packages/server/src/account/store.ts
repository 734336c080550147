import { type Expression, sql } from 'kysely';
import { statement } from '../database/statement.ts';

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

export const findUserByAddress = statement<{ email_key: string }>()((db, p) =>
  db.selectFrom('users').select(['id', 'disabled_at']).where('email_key', '=', p.email_key),
);

/** Adds an account unless the address has one; no row then, whoever was first. */
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
    .values({
      id: p.id,
      email: p.email,
      email_key: p.email_key,
      email_verified: 1,
      name: p.name,
      webauthn_user_handle: p.webauthn_user_handle,
      revision: 1,
      session_epoch: 0,
      created_at: p.now,
      updated_at: p.now,
    })
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

export const enableUser = statement<{ email_key: string }>()((db, p) =>
  db
    .updateTable('users')
    .set({ disabled_at: null })
    .where('email_key', '=', p.email_key)
    .where('disabled_at', 'is not', null)
    .returning('id'),
);
