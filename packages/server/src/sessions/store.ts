import { type Expression, type ExpressionBuilder, sql } from 'kysely';
import type { Tables } from '../platform/database/schema.ts';
import { statement } from '../platform/database/statement.ts';
import { sweepStatement } from '../platform/database/sweep.ts';
import { textsOf } from '../platform/database/texts.ts';

const bigint = (value: Expression<number>) => sql<number>`cast(${value} as bigint)`;

/** The later idle expiry, but never past the end of the session. */
const extendedIdleExpiry = (idle: Expression<number>) =>
  sql<number>`case when ${idle} < idle_expires_at then idle_expires_at when expires_at < ${idle} then expires_at else ${idle} end`;

/** The one gate: the account may receive tokens, and nobody has ended all its logins since. */
const admits = (e: ExpressionBuilder<Tables, 'sessions'>) =>
  e.exists(
    e
      .selectFrom('users')
      .select(sql`1`.as('one'))
      .whereRef('users.id', '=', 'sessions.user_id')
      .whereRef('users.session_epoch', '=', 'sessions.session_epoch')
      .where('users.disabled_at', 'is', null),
  );

/**
 * Starts a session if the account passes the gate; no row otherwise. With `session_epoch` also only if nobody
 * has ended all logins since that epoch, and with `email_key` only while the account has that address. Records what
 * the login came of, since the passkey it used may be removed later.
 */
export const insertSession = statement<{
  id: string;
  user_id: string;
  session_epoch: number | null;
  kind: 'browser' | 'device';
  method: Tables['sessions']['method'];
  client_name: string | null;
  device_name: string | null;
  ip_address: string | null;
  user_agent: string | null;
  now: number;
  idle_expires_at: number;
  expires_at: number;
  parent_session_id: string | null;
  passkey_id: string | null;
  email_key: string | null;
}>()((db, p) =>
  db
    .insertInto('sessions')
    .columns([
      'id',
      'user_id',
      'session_epoch',
      'kind',
      'method',
      'generation',
      'rotated_at',
      'client_name',
      'device_name',
      'ip_address',
      'user_agent',
      'created_at',
      'last_used_at',
      'idle_expires_at',
      'expires_at',
      'parent_session_id',
      'passkey_id',
      'passkey_added_by',
      'email_change_id',
    ])
    .expression(
      db
        .selectFrom('users')
        .select((e) => [
          p.id.as('id'),
          'users.id as user_id',
          'users.session_epoch',
          p.kind.as('kind'),
          p.method.as('method'),
          e.lit(1).as('generation'),
          bigint(p.now).as('rotated_at'),
          p.client_name.as('client_name'),
          p.device_name.as('device_name'),
          p.ip_address.as('ip_address'),
          p.user_agent.as('user_agent'),
          bigint(p.now).as('created_at'),
          bigint(p.now).as('last_used_at'),
          bigint(p.idle_expires_at).as('idle_expires_at'),
          bigint(p.expires_at).as('expires_at'),
          p.parent_session_id.as('parent_session_id'),
          p.passkey_id.as('passkey_id'),
          e
            .selectFrom('passkeys')
            .select('passkeys.session_id')
            .where('passkeys.id', '=', p.passkey_id)
            .as('passkey_added_by'),
          e
            .selectFrom('email_changes as c')
            .select('c.id')
            .whereRef('c.user_id', '=', 'users.id')
            .where('c.new_email_key', '=', p.email_key)
            .where('c.changed_at', 'is not', null)
            .where('c.undone_at', 'is', null)
            .orderBy('c.changed_at', 'desc')
            .limit(1)
            .as('email_change_id'),
        ])
        .where('users.id', '=', p.user_id)
        .where('users.disabled_at', 'is', null)
        .where(
          sql<boolean>`users.session_epoch = coalesce(cast(${p.session_epoch} as integer), users.session_epoch)`,
        )
        .where(sql<boolean>`users.email_key = coalesce(cast(${p.email_key} as text), users.email_key)`),
    )
    .returning(['id', 'generation', 'rotated_at', 'expires_at']),
);

/**
 * Spends the refresh token of one generation and makes the next one current. At most one caller ever gets a
 * row for a generation, and only while session and account are good.
 */
export const rotate = statement<{
  id: string;
  generation: number;
  idempotency_hash: string | null;
  network: string;
  program: string;
  now: number;
  idle_expires_at: number;
}>()((db, p) =>
  db
    .updateTable('sessions')
    .set((e) => ({
      generation: e('generation', '+', 1),
      rotated_at: p.now,
      last_used_at: p.now,
      idempotency_hash: p.idempotency_hash,
      rotated_network: p.network,
      rotated_program: p.program,
      idle_expires_at: extendedIdleExpiry(p.idle_expires_at),
    }))
    .where('id', '=', p.id)
    .where('generation', '=', p.generation)
    .where('revoked_at', 'is', null)
    .where('idle_expires_at', '>', p.now)
    .where(admits)
    .returning(['generation', 'rotated_at', 'expires_at']),
);

/**
 * The epoch of the session's account, null while that is disabled. By a subquery: SQLite answers it in a fraction
 * of the time that it takes for a join.
 */
const epochOfUser = (e: ExpressionBuilder<Tables, 'sessions'>) =>
  e
    .selectFrom('users')
    .select(sql<number | null>`case when users.disabled_at is null then users.session_epoch end`.as('epoch'))
    .whereRef('users.id', '=', 'sessions.user_id')
    .as('user_epoch');

/** What decides whether a login still stands, and whose it is: no more than every request can do with. */
export const findSessionStatus = statement<{ id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select((e) => [
      'user_id',
      'kind',
      'created_at',
      'last_used_at',
      'idle_expires_at',
      'expires_at',
      'revoked_at',
      'session_epoch',
      epochOfUser(e),
    ])
    .where('id', '=', p.id),
);

/** A session beside the state of its account, whatever state both are in. */
export const findSession = statement<{ id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select((e) => [
      'id',
      'user_id',
      'kind',
      'method',
      'generation',
      'rotated_at',
      'idempotency_hash',
      'rotated_network',
      'rotated_program',
      'created_at',
      'last_used_at',
      'idle_expires_at',
      'expires_at',
      'revoked_at',
      'session_epoch',
      epochOfUser(e),
    ])
    .where('id', '=', p.id),
);

/** The live sessions of a user before a place in their order: newest first. */
export const listSessions = statement<{
  user_id: string;
  now: number;
  before_time: number;
  before_id: string;
  limit: number;
}>()((db, p) =>
  db
    .selectFrom('sessions')
    .select([
      'id',
      'kind',
      'method',
      'client_name',
      'device_name',
      'ip_address',
      'user_agent',
      'created_at',
      'last_used_at',
    ])
    .where('user_id', '=', p.user_id)
    .where('revoked_at', 'is', null)
    .where('idle_expires_at', '>', p.now)
    .where(admits)
    .where((e) =>
      e.or([
        e('created_at', '<', p.before_time),
        e.and([e('created_at', '=', p.before_time), e('id', '<', p.before_id)]),
      ]),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit),
);

/** Where the newest logins of a user in browsers came from, ended ones too, but none that was stolen or disowned. */
export const listLoginOrigins = statement<{ user_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select(['ip_address', 'user_agent'])
    .where('user_id', '=', p.user_id)
    .where('kind', '=', 'browser')
    .where('distrusted_as', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(p.limit),
);

/**
 * Ends one active session of the user; a row for exactly one caller. A session that is no longer trusted makes no place
 * familiar from then on.
 */
export const endSession = statement<{
  id: string;
  user_id: string;
  distrusted_as: 'stolen' | null;
  now: number;
}>()((db, p) =>
  db
    .updateTable('sessions')
    .set({ revoked_at: p.now, idle_expires_at: p.now, distrusted_as: p.distrusted_as })
    .where('id', '=', p.id)
    .where('user_id', '=', p.user_id)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', p.now)
    .where(admits)
    .returning('id'),
);

/** Ends these sessions of the user for good, whatever state they are in. None of them makes a place familiar from then on. */
export const disownSessions = statement<{ user_id: string; ids: string; now: number }>()((db, p, dialect) =>
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

/** Notes that a session is in use, unless someone has noted it since; extends its idle life up to a moment. */
export const touchSession = statement<{
  id: string;
  now: number;
  unless_since: number;
  idle_expires_at: number;
}>()((db, p) =>
  db
    .updateTable('sessions')
    .set({ last_used_at: p.now, idle_expires_at: extendedIdleExpiry(p.idle_expires_at) })
    .where('id', '=', p.id)
    .where('last_used_at', '<', p.unless_since)
    .where('revoked_at', 'is', null),
);

/**
 * When a session is of no more use. A browser login that came of another is kept until its longest possible end:
 * whatever it came of began before it, so by then nothing is left to disown that it could be a part of. The same
 * expression is indexed.
 */
const endOfUse = sql<number>`case when kind = 'browser' and (parent_session_id is not null or passkey_added_by is not null) then expires_at else idle_expires_at end`;

/**
 * Deletes a batch of sessions that are of no use since a moment. Browser sessions that were stolen or disowned stay
 * until they are older than any known-browser cookie, so that such a cookie never vouches for one of them.
 */
export const sweepSessions = sweepStatement<{ before: number; distrusted_before: number }>()(
  'sessions',
  'id',
  (e, p) =>
    e.and([
      e(endOfUse, '<', p.before),
      e.or([
        e('distrusted_as', 'is', null),
        e('kind', '<>', 'browser'),
        e('created_at', '<', p.distrusted_before),
      ]),
    ]),
);

/** Whether an account is disabled; no row when it is gone. */
export const findAccountState = statement<{ id: string }>()((db, p) =>
  db.selectFrom('users').select(['disabled_at']).where('id', '=', p.id),
);

/** Every stored session of the user, oldest first, without hashes. */
export const exportSessions = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select([
      'id',
      'kind',
      'method',
      'client_name',
      'device_name',
      'ip_address',
      'user_agent',
      'created_at',
      'last_used_at',
      'rotated_at',
      'rotated_network',
      'idle_expires_at',
      'expires_at',
      'revoked_at',
      'parent_session_id',
      'passkey_id',
      'passkey_added_by',
      'email_change_id',
      'distrusted_as',
    ])
    .where('user_id', '=', p.user_id)
    .orderBy('created_at'),
);
