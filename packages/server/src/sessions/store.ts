import { loginKinds, type Session, sessionKinds } from '@latchkey/contract/sessions';
import {
  type AliasableExpression,
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type Kysely,
  sql,
} from 'kysely';
import { profileColumns } from '../accounts/profile.ts';
import type { Dialect } from '../platform/database/executor.ts';
import { lookup, update } from '../platform/database/gather.ts';
import type { PlaceInList } from '../platform/database/pagination.ts';
import type { Tables } from '../platform/database/schema.ts';
import { bigint, named, type Slots, statement, textsOf } from '../platform/database/statement.ts';
import { sweepStatement } from '../platform/database/sweep.ts';
import { endedColumns } from './runs/store.ts';
import {
  enabledEpoch,
  isActive,
  isInUse,
  isRunOpen,
  isUnrevoked,
  mayStart,
  pathEndsAt,
  statusColumns,
  type TimesOfUse,
} from './status.ts';

/** Extends the idle timeout, never shortens it, and never past the absolute lifetime. */
const extendedIdleExpiry = (idle: Expression<number>, dialect: Dialect) => {
  const [min, max] = dialect === 'sqlite' ? [sql`min`, sql`max`] : [sql`least`, sql`greatest`];
  return sql<number>`${max}(idle_expires_at, ${min}(expires_at, ${idle}))`;
};

/** The columns of a new session that the caller supplies. */
const given = [
  ...(['id', 'kind', 'method', 'client_name', 'device_name', 'ip_address', 'user_agent', 'trust'] as const),
  ...(['parent_session_id', 'passkey_id', 'scope', 'resource', 'authorization_details'] as const),
  ...(['client_id', 'authenticated_by'] as const),
] as const;
const givenTimes = ['last_used_at', 'idle_expires_at', 'expires_at', 'authenticated_at'] as const;

/**
 * Locks the account and starts a session if the account is enabled; returns no row
 * otherwise. A `session_epoch` also requires that the account is still in that epoch, an
 * `email_key` that it still has that address.
 */
export const insertSession = statement<
  Pick<Tables['sessions'], 'user_id' | (typeof given)[number] | (typeof givenTimes)[number]> & {
    session_epoch: number | null;
    email_key: string | null;
    now: number;
  }
>()((db, p, dialect) => {
  const e = expressionBuilder<Tables, 'users'>();
  const row = {
    ...named(p, given),
    user_id: e.ref('users.id'),
    session_epoch: e.ref('users.session_epoch'),
    generation: e.lit(1),
    rotated_at: bigint(p.now),
    created_at: bigint(p.now),
    last_used_at: bigint(p.last_used_at),
    idle_expires_at: bigint(p.idle_expires_at),
    expires_at: bigint(p.expires_at),
    authenticated_at: bigint(p.authenticated_at),
  } satisfies { [Column in keyof Tables['sessions']]?: AliasableExpression<unknown> };
  return db
    .insertInto('sessions')
    .columns(Object.keys(row) as (keyof typeof row)[])
    .expression(
      db
        .selectFrom('users')
        .select(Object.entries<AliasableExpression<unknown>>(row).map(([column, value]) => value.as(column)))
        .where('users.id', '=', p.user_id)
        .where(mayStart(p.session_epoch))
        .where(sql<boolean>`users.email_key = coalesce(cast(${p.email_key} as text), users.email_key)`)
        .$if(dialect === 'postgres', (q) => q.forUpdate()),
    )
    .returning('id');
});

/** A run ends some time after its last token was issued, but not before that token. */
const idleExpiryOf = (
  p: Slots<{ now: number; idle_expires_at: number; run_idle_expires_at: number }>,
  dialect: Dialect,
) => {
  const max = dialect === 'sqlite' ? sql`max` : sql`greatest`;
  const token = sql<number>`${bigint(p.now)} + 1000 * token_ttl_seconds`;
  return sql<number>`case when token_ttl_seconds is null then ${bigint(p.idle_expires_at)} else ${max}(${bigint(p.run_idle_expires_at)}, ${token}) end`;
};

/** What the current tokens of a session are derived from. */
export const rotationColumns = [
  'generation',
  'rotated_at',
  'expires_at',
  'scope',
  'authorization_details',
  'token_ttl_seconds',
] as const;

/**
 * Spends the refresh token of one generation and makes the next one current: a row at most once, while the
 * session is active. A run also needs its service, the session of an application its client.
 */
export const rotate = update('sessions', {
  id: 'text',
  generation: 'bigint',
  idempotency_hash: 'text null',
  network: 'text',
  program: 'text',
  now: 'bigint',
  idle_expires_at: 'bigint',
  run_idle_expires_at: 'bigint',
  service_id: 'text null',
  client_id: 'text null',
})((db, p, dialect) =>
  db
    .updateTable('sessions')
    .set((e) => ({
      generation: e('generation', '+', 1),
      rotated_at: p.now,
      last_used_at: p.now,
      idempotency_hash: p.idempotency_hash,
      rotated_network: p.network,
      rotated_program: p.program,
      idle_expires_at: extendedIdleExpiry(idleExpiryOf(p, dialect), dialect),
    }))
    .where('id', '=', p.id)
    .where('generation', '=', p.generation)
    .where((e) => e.or([e('token_ttl_seconds', 'is', null), e('service_id', '=', p.service_id)]))
    .where((e) => e.or([e('client_id', 'is', null), e('client_id', '=', p.client_id)]))
    .where(isActive(p.now, dialect))
    .returning(rotationColumns),
);

/** An unannounced active key that was made for more than 14 days. Its index has the same literals. */
const isToAnnounce = (e: ExpressionBuilder<Tables, 'sessions'>, now: Expression<number>, dialect: Dialect) =>
  e.and([
    sql<boolean>`sessions.kind = 'key'`,
    e('end_announced_at', 'is', null),
    sql<boolean>`sessions.expires_at - sessions.created_at > 1209600000`,
    isActive(now, dialect),
  ]);

/** The keys that end until `before` and are still to be announced. Reads an index of such keys only. */
export const listKeysToAnnounce = statement<{ now: number; before: number; limit: number }>()(
  (db, p, dialect) =>
    db
      .selectFrom('sessions')
      .select(['id', 'user_id'])
      .where('expires_at', '<=', p.before)
      .where((e) => isToAnnounce(e, p.now, dialect))
      .orderBy('expires_at')
      .limit(p.limit),
);

/** Marks a key of a locked account as announced. Of parallel calls, exactly one gets a row. */
export const markAnnounced = statement<{ id: string; now: number }>()((db, p, dialect) =>
  db
    .updateTable('sessions')
    .set({ end_announced_at: bigint(p.now) })
    .where('id', '=', p.id)
    .where((e) => isToAnnounce(e, p.now, dialect))
    .returning('expires_at'),
);

export const findActiveKey = statement<{ id: string; now: number }>()((db, p, dialect) =>
  db
    .selectFrom('sessions')
    .select(['user_id', 'client_name', 'expires_at'])
    .where('id', '=', p.id)
    .where('kind', '=', 'key')
    .where(isActive(p.now, dialect)),
);

/** What has a path is a run. Its index has the same condition. */
const isRun = (e: ExpressionBuilder<Tables, 'sessions'>) => e('path', 'is not', null);

const userEpoch = (e: ExpressionBuilder<Tables, 'sessions'>) =>
  e
    .selectFrom('users')
    .select(enabledEpoch.as('epoch'))
    .whereRef('users.id', '=', 'sessions.user_id')
    .as('user_epoch');

export const findSessionStatus = statement<{ id: string }>()((db, p, dialect) =>
  db
    .selectFrom('sessions')
    .select((e) => [...statusColumns, userEpoch(e), pathEndsAt(dialect).as('path_ends_at')])
    .where('id', '=', p.id),
);

/**
 * A session with its account, whatever its status. Every request of a user runs this statement: the join
 * costs as much as reading the epoch of the account alone.
 */
export const findCaller = lookup((db, p, dialect) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(statusColumns.map((column) => `sessions.${column}` as const))
    .select(['sessions.kind', 'sessions.scope', 'sessions.resource', 'sessions.last_used_at'])
    .select(['sessions.created_at as started_at', enabledEpoch.as('user_epoch')])
    .select(pathEndsAt(dialect).as('path_ends_at'))
    .select(profileColumns.map((column) => `users.${column}` as const))
    .where('sessions.id', '=', p.id),
);

/** A session with the epoch of its account, whatever its status. */
export const findSession = lookup((db, p, dialect) =>
  db
    .selectFrom('sessions')
    .select([...new Set([...statusColumns, ...rotationColumns])])
    .select(['id', 'kind', 'method', 'created_at', 'last_used_at', 'resource', 'client_name'])
    .select(['path', 'within_session_id', 'root_session_id', 'service_id', 'actor'])
    .select(['client_id', 'authenticated_at', 'authenticated_by', 'trust'])
    .select(['idempotency_hash', 'rotated_network', 'rotated_program'])
    .select((e) => [userEpoch(e), pathEndsAt(dialect).as('path_ends_at')])
    .where('id', '=', p.id),
);

/**
 * The sessions of a user that are in use, from a position in the list on, newest first: the first of each kind,
 * merged, so that many of one kind, ended or not, delay no list of the others.
 */
const listOf = (kinds: readonly Session['kind'][]) =>
  statement<{ user_id: string } & TimesOfUse & PlaceInList>()((db, p, dialect) => {
    const firstOf = (kind: Session['kind']) =>
      db
        .selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', p.user_id)
        .where((e) => (kind === 'run' ? isRun(e) : e('kind', '=', kind)))
        .$narrowType<{ kind: Session['kind']; method: Session['method'] }>()
        .where(kind === 'run' ? isActive(p.now, dialect) : isInUse(p, dialect))
        // Where reading the index starts: databases do not find it in the next condition.
        .where('created_at', '<=', p.from_time)
        .where((e) => e.or([e('created_at', '<', p.from_time), e('id', '<', p.from_id)]))
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(p.limit);
    return kinds
      .map((kind) => db.selectFrom(firstOf(kind).as('first')).selectAll())
      .reduce((all, first) => all.unionAll(first))
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(p.limit);
  });

export const listSessions = { all: listOf(sessionKinds), login: listOf(loginKinds), run: listOf(['run']) };

export const findUnrevokedSession = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('sessions').select('id').where('user_id', '=', p.user_id).where(isUnrevoked()).limit(1),
);

/** How many active sessions of each kind got their newest tokens, or used their cookie, before then. */
export const countUnchangedSince = statement<{ now: number; then: number }>()((db, p, dialect) =>
  db
    .selectFrom('sessions')
    .select((e) => ['kind', e.fn.countAll<number>().as('count')])
    .where(isActive(p.now, dialect))
    .where(sql<boolean>`case when kind = 'browser' then last_used_at else rotated_at end < ${p.then}`)
    .groupBy('kind'),
);

/**
 * Ends one active session of the user; returns a row to exactly one caller. A distrusted session is no longer
 * one of the known places that a new sign-in is compared with.
 */
export const endSession = statement<{
  id: string;
  user_id: string;
  distrusted_as: 'stolen' | null;
  now: number;
}>()((db, p, dialect) =>
  db
    .updateTable('sessions')
    .set({ revoked_at: p.now, idle_expires_at: p.now, distrusted_as: p.distrusted_as })
    .where('id', '=', p.id)
    .where('user_id', '=', p.user_id)
    .where(isActive(p.now, dialect, { end: 'expires_at' }))
    .returning(endedColumns),
);

/** All sign-ins and keys of a user, and its runs. Apart, because databases pass over ended runs only so. */
const ofUser = (db: Kysely<Tables>, p: Slots<{ user_id: string }>) => {
  const sessions = db.selectFrom('sessions').where('user_id', '=', p.user_id);
  return { others: sessions.where('kind', 'in', [...loginKinds, 'key']), runs: sessions.where(isRun) };
};

/** The sessions, keys and runs of a user that are in use, newest first. */
export const listInUse = statement<{ user_id: string } & TimesOfUse>()((db, p, dialect) => {
  const { others, runs } = ofUser(db, p);
  const columns = ['id', 'kind', 'client_name', 'device_name', 'within_session_id', 'ordinal'] as const;
  return others
    .select(columns)
    .where(isInUse(p, dialect))
    .unionAll(runs.select(columns).where(isActive(p.now, dialect)))
    .orderBy('ordinal', 'desc');
});

/**
 * Ends everything that began at this ordinal or later, and every session that came by one of these passkeys,
 * whatever its status, and distrusts them like stolen ones. Leaves out runs that ended before `ended_before`, of
 * which there can be many. The account must be locked.
 */
export const disownSessions = statement<{
  user_id: string;
  since: number;
  passkey_ids: string;
  now: number;
  ended_before: number;
}>()((db, p, dialect) => {
  const { others, runs } = ofUser(db, p);
  return db
    .updateTable('sessions')
    .set((e) => ({
      revoked_at: sql<number>`coalesce(${e.ref('revoked_at')}, cast(${p.now} as bigint))`,
      idle_expires_at: sql<number>`case when ${e.ref('idle_expires_at')} < ${p.now} then ${e.ref('idle_expires_at')} else ${p.now} end`,
      distrusted_as: 'disowned' as const,
    }))
    .where('id', 'in', others.select('id').unionAll(runs.select('id').where(isRunOpen(p.ended_before))))
    .where((e) =>
      e.or([e('ordinal', '>=', p.since), e('passkey_id', 'in', textsOf(p.passkey_ids, dialect))]),
    );
});

/** Records a session's last use unless it was recorded after `unless_since`; extends its idle timeout. */
export const touchSession = statement<{
  id: string;
  now: number;
  unless_since: number;
  idle_expires_at: number;
}>()((db, p, dialect) =>
  db
    .updateTable('sessions')
    .set({ last_used_at: p.now, idle_expires_at: extendedIdleExpiry(p.idle_expires_at, dialect) })
    .where('id', '=', p.id)
    .where('last_used_at', '<', p.unless_since)
    .where(isUnrevoked()),
);

/**
 * When a session is no longer needed. A browser session is kept until its absolute lifetime
 * ends: it may still be disowned with a device that it approved, or with an older session.
 * The index has the same expression.
 */
const neededUntil = sql<number>`case when kind = 'browser' then expires_at else idle_expires_at end`;

/**
 * Deletes a batch of sessions that have not been needed since `before`. Distrusted ones of browsers are kept
 * until every known-browser cookie that names them has expired: none may recognize a browser by them.
 */
export const sweepSessions = sweepStatement<{ before: number; distrusted_before: number }>()(
  'sessions',
  'id',
  (e, p) =>
    e.and([
      e(neededUntil, '<', p.before),
      e.or([
        e('distrusted_as', 'is', null),
        e('kind', '<>', 'browser'),
        e('created_at', '<', p.distrusted_before),
      ]),
    ]),
);

export const findAccountState = statement<{ id: string }>()((db, p) =>
  db.selectFrom('users').select(['disabled_at']).where('id', '=', p.id),
);

/** The open sessions of a revoked service as an application, and the open runs that it acts in. */
const isOpenOfService = (
  e: ExpressionBuilder<Tables, 'sessions'>,
  p: Slots<{ service_id: string; now: number }>,
) =>
  e.or([
    e.and([e('client_id', '=', p.service_id), e('expires_at', '>', p.now), isUnrevoked()]),
    e.and([e('service_id', '=', p.service_id), isRunOpen(p.now)]),
  ]);

/** The accounts of some open sessions of a revoked service as an application and open runs that it acts in. */
export const listAccountsOfService = statement<{ service_id: string; now: number; limit: number }>()(
  (db, p) =>
    db
      .selectFrom((e) =>
        e
          .selectFrom('sessions')
          .select('user_id')
          .where((one) => isOpenOfService(one, p))
          .limit(p.limit)
          .as('open'),
      )
      .select('user_id')
      .distinct(),
);

/**
 * Ends, in locked accounts, some open sessions of a revoked service as an application and open runs that it acts
 * in. Returns what it ended.
 */
export const endSessionsOfService = statement<{
  service_id: string;
  user_ids: string;
  now: number;
  limit: number;
}>()((db, p, dialect) =>
  db
    .updateTable('sessions')
    .set({ revoked_at: p.now, idle_expires_at: p.now })
    .where('id', 'in', (e) =>
      e
        .selectFrom('sessions')
        .select('id')
        .where('user_id', 'in', textsOf(p.user_ids, dialect))
        .where((one) => isOpenOfService(one, p))
        .limit(p.limit),
    )
    .returning([...endedColumns, 'user_id']),
);

/** What the newest active sessions of a client in one account may do. */
export const listAccessOfClient = statement<{
  client_id: string;
  user_id: string;
  now: number;
  limit: number;
}>()((db, p, dialect) =>
  db
    .selectFrom('sessions')
    .select(['scope', 'resource'])
    .where('user_id', '=', p.user_id)
    .where('kind', '=', 'app')
    .where('client_id', '=', p.client_id)
    .where(isActive(p.now, dialect))
    // By the index of the account: a client may have the sessions of everybody.
    .orderBy('created_at', 'desc')
    .limit(p.limit),
);

/** How many of the account's newest sign-ins a new one is compared with. */
const maxCompared = 100;

/** The origins of the user's newest sign-ins of a kind: ended ones count, stolen and disowned ones do not. */
const originsOf = (db: Kysely<Tables>, p: Slots<{ user_id: string }>, kind: 'browser' | 'app') =>
  db
    .selectFrom('sessions')
    .select(['ip_address', 'user_agent'])
    .where('user_id', '=', p.user_id)
    .where('kind', '=', kind)
    .where('distrusted_as', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(maxCompared);

export const listBrowserOrigins = statement<{ user_id: string }>()((db, p) => originsOf(db, p, 'browser'));

export const listAppOrigins = statement<{ user_id: string; client_id: string }>()((db, p) =>
  originsOf(db, p, 'app').where('client_id', '=', p.client_id),
);

const activeKeys = (
  db: Kysely<Tables>,
  p: { user_id: Expression<string>; now: Expression<number> },
  dialect: Dialect,
) =>
  db
    .selectFrom('sessions')
    .where('user_id', '=', p.user_id)
    .where('kind', '=', 'key')
    .where(isActive(p.now, dialect));

export const listKeys = statement<{ user_id: string; now: number } & PlaceInList>()((db, p, dialect) =>
  activeKeys(db, p, dialect)
    .selectAll()
    .where((e) => e(e.refTuple('created_at', 'id'), '<', e.tuple(p.from_time, p.from_id)))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit),
);

export const countKeys = statement<{ user_id: string; now: number }>()((db, p, dialect) =>
  activeKeys(db, p, dialect).select(sql<number>`cast(count(*) as integer)`.as('keys')),
);
