// Whether a session is active, decided in one place: by `sessionStatus` on a row that was
// read, by `isActive` in a statement.

import { type Expression, type SqlBool, sql } from 'kysely';
import type { Context } from '../platform/context.ts';
import type { Dialect } from '../platform/database/executor.ts';
import type { Tables } from '../platform/database/schema.ts';
import type { Slots } from '../platform/database/statement.ts';

/** The names that a statement may have given to the table of sessions. */
type Alias = 'sessions' | 'parent';

/**
 * When a session ends: at its idle timeout, or at its absolute lifetime, which access tokens that outlive the
 * idle timeout have. Both are the same for keys, and for runs that were not refreshed.
 */
type End = 'idle_expires_at' | 'expires_at';

/** The columns that decide the status of a session, and whose it is. */
export const statusColumns = [
  'user_id',
  'session_epoch',
  'idle_expires_at',
  'expires_at',
  'revoked_at',
] as const;

/** The columns of a session and its account that decide its status. */
export type SessionState = Pick<Tables['sessions'], 'session_epoch' | 'revoked_at' | 'idle_expires_at'> & {
  /** The epoch of the account; null while the account is disabled. */
  readonly user_epoch: number | null;
  /** For a run, the earliest end of the run and its ancestors; 0 for a session of a revoked service; else null. */
  readonly path_ends_at: number | null;
};

export type SessionStatus = 'active' | 'disabled' | 'ended';

/**
 * The status of a session at `now`. It ends at its idle timeout unless the caller names another end, and with
 * its ancestors. A disabled account has a status of its own because its owner may learn that it is disabled.
 */
export function sessionStatus(
  state: SessionState,
  now: number,
  endsAt: number = state.idle_expires_at,
): SessionStatus {
  if (state.user_epoch === null) return 'disabled';
  if (state.revoked_at !== null || state.session_epoch !== state.user_epoch) return 'ended';
  if (state.path_ends_at !== null && state.path_ends_at <= now) return 'ended';
  return endsAt > now ? 'active' : 'ended';
}

/** The epoch of an account, null while it is disabled. */
export const enabledEpoch = sql<
  number | null
>`case when users.disabled_at is null then users.session_epoch end`;

/** A revoked service is the application of a session, or acts in a run. */
const isOfRevokedService = (of: Alias | 's'): Expression<SqlBool> => sql<SqlBool>`exists (
  select 1 from service_keys k
    where k.id in (${sql.ref(`${of}.client_id`)}, ${sql.ref(`${of}.service_id`)}) and k.revoked_at is not null
)`;

/**
 * The end of the path of a run: the earliest idle expiry on it, or 0 if anything on it was revoked, is gone
 * or is of a revoked service; 0 for an application's session of such a service; else null, which costs
 * nothing. Every lookup compares it, so the end of a session ends all runs within it, and that of a service
 * all that is of it, without writing to them.
 */
export const pathEndsAt = (dialect: Dialect, of: Alias = 'sessions') => {
  const path = sql.ref(`${of}.path`);
  const ids =
    dialect === 'postgres'
      ? sql`jsonb_array_elements_text(cast(${path} as jsonb)) as step(id)`
      : sql`(select value as id from json_each(${path})) as step`;
  return sql<number | null>`case when ${path} is not null then (
    select min(case
      when s.revoked_at is null and not ${isOfRevokedService('s')} then coalesce(s.idle_expires_at, 0)
      else 0 end)
    from ${ids} left join sessions s on s.id = step.id
  ) when ${sql.ref(`${of}.client_id`)} is not null and ${isOfRevokedService(of)} then 0 end`;
};

/** The session was not revoked, alone or with all of its account, and the account is enabled. */
export const isUnrevoked = (of: Alias = 'sessions'): Expression<SqlBool> => {
  const column = (name: keyof Tables['sessions']) => sql.ref(`${of}.${name}`);
  return sql<SqlBool>`(${column('revoked_at')} is null and exists (
    select 1 from users as account where account.id = ${column('user_id')}
      and account.session_epoch = ${column('session_epoch')} and account.disabled_at is null
  ))`;
};

/** What `sessionStatus` calls active, as a condition on a session. */
export const isActive = (
  now: Expression<number>,
  dialect: Dialect,
  { of = 'sessions', end = 'idle_expires_at' }: { readonly of?: Alias; readonly end?: End } = {},
): Expression<SqlBool> => {
  const endsAt = sql.ref(`${of}.${end}`);
  return sql<SqlBool>`(${endsAt} > ${now}
    and coalesce(${pathEndsAt(dialect, of)}, ${endsAt}) > ${now} and ${isUnrevoked(of)})`;
};

/** The time, for `isInUse`: access tokens of sign-ins have expired unless they were issued after `tokens_since`. */
export function timesOfUse({ clock, config }: Pick<Context, 'clock' | 'config'>) {
  const now = clock();
  return { now, tokens_since: now - config.accessTokenTtlSeconds * 1000 };
}

export type TimesOfUse = ReturnType<typeof timesOfUse>;

/** A sign-in or key is active, or the last access token is, which outlives a shorter idle timeout. */
export const isInUse = (p: Slots<TimesOfUse>, dialect: Dialect): Expression<SqlBool> =>
  sql<SqlBool>`((sessions.idle_expires_at > ${p.now} or sessions.rotated_at > ${p.tokens_since})
    and ${isActive(p.now, dialect, { end: 'expires_at' })})`;

/** An account, `users`, may start a session: it is enabled and, if an epoch is given, still in it. */
export const mayStart = (epoch: Expression<number | null>): Expression<SqlBool> =>
  sql<SqlBool>`(users.disabled_at is null
    and users.session_epoch = coalesce(cast(${epoch} as integer), users.session_epoch))`;

/** The session with this id is active, at least for its access tokens. */
export const isActiveSession = (id: Expression<string>, now: Expression<number>, dialect: Dialect) =>
  sql<SqlBool>`exists (
    select 1 from sessions where sessions.id = ${id} and ${isActive(now, dialect, { end: 'expires_at' })}
  )`;

/** The session with this id was not revoked, whether or not it has expired. */
export const isUnrevokedSession = (id: Expression<string>): Expression<SqlBool> =>
  sql<SqlBool>`exists (select 1 from sessions where sessions.id = ${id} and ${isUnrevoked()})`;

/**
 * The idle timeout of a run has not passed. Ending a run also ends its idle timeout, but ending an ancestor
 * of the run does not. For counts and updates of many runs at once.
 */
export const isRunOpen = (now: Expression<number>): Expression<SqlBool> =>
  sql<SqlBool>`sessions.idle_expires_at > ${now}`;

/** The idle timeout of a session passed before this moment. */
export const isIdleSince = (moment: Expression<number>): Expression<SqlBool> =>
  sql<SqlBool>`sessions.idle_expires_at < ${moment}`;
