import { type AliasableExpression, expressionBuilder, sql } from 'kysely';
import type { Tables } from '../../platform/database/schema.ts';
import { bigint, named, statement } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';
import { isActive, isIdleSince, isRunOpen } from '../status.ts';

/** What the end of a session, key or run is recorded with. */
export const endedColumns = [
  'id',
  'kind',
  'client_name',
  'scope',
  'resource',
  'within_session_id',
  'path',
  'service_id',
] as const;

/** The columns of a new run that the caller supplies. */
const given = [
  ...(['id', 'client_name', 'ip_address', 'user_agent', 'scope', 'resource'] as const),
  ...(['authorization_details', 'path', 'within_session_id', 'root_session_id'] as const),
  ...(['service_id', 'actor'] as const),
] as const;
const givenNumbers = ['idle_expires_at', 'expires_at', 'token_ttl_seconds'] as const;

/**
 * Makes a run within a session or key, in one statement that inserts it only while the account is enabled and
 * everything on the run's path is active; returns no row otherwise. The account must be locked.
 */
export const insertRun = statement<
  Pick<Tables['sessions'], (typeof given)[number] | (typeof givenNumbers)[number]> & {
    within_session_id: string;
    now: number;
  }
>()((db, p, dialect) => {
  const e = expressionBuilder<Tables, 'users'>();
  const row = {
    ...named(p, given),
    user_id: e.ref('users.id'),
    session_epoch: e.ref('users.session_epoch'),
    kind: e.val('run'),
    method: e.val('token_exchange'),
    generation: e.lit(1),
    rotated_at: bigint(p.now),
    created_at: bigint(p.now),
    last_used_at: bigint(p.now),
    idle_expires_at: bigint(p.idle_expires_at),
    expires_at: bigint(p.expires_at),
    token_ttl_seconds: bigint(p.token_ttl_seconds),
  } satisfies { [Column in keyof Tables['sessions']]?: AliasableExpression<unknown> };
  return db
    .insertInto('sessions')
    .columns(Object.keys(row) as (keyof typeof row)[])
    .expression(
      db
        .selectFrom('sessions as parent')
        .innerJoin('users', 'users.id', 'parent.user_id')
        .select(Object.entries<AliasableExpression<unknown>>(row).map(([column, value]) => value.as(column)))
        .where('parent.id', '=', p.within_session_id)
        .where(isActive(p.now, dialect, { of: 'parent' })),
    )
    .returning('id');
});

/** The active runs directly within a session or key, and all below it, also within ended ones. */
export const countRuns = statement<{ within_session_id: string; root_session_id: string; now: number }>()(
  (db, p) => {
    const count = sql<number>`cast(count(*) as integer)`.as('runs');
    const open = db.selectFrom('sessions').select(count).where(isRunOpen(p.now));
    return db.selectNoFrom([
      open.where('within_session_id', '=', p.within_session_id).as('within'),
      open.where('root_session_id', '=', p.root_session_id).as('below'),
    ]);
  },
);

/** How many active runs are below a sign-in or key, exactly. */
export const countActiveRunsBelow = statement<{ root_session_id: string; now: number }>()((db, p, dialect) =>
  db
    .selectFrom('sessions')
    .select(sql<number>`cast(count(*) as integer)`.as('below'))
    .where('root_session_id', '=', p.root_session_id)
    .where(isActive(p.now, dialect)),
);

/** Puts all active runs below one sign-in below another one of the same account. */
export const moveRuns = statement<{ from: string; to: string; now: number }>()((db, p) =>
  db
    .updateTable('sessions')
    .set({
      root_session_id: p.to,
      within_session_id: sql<string>`case when within_session_id = ${p.from} then cast(${p.to} as text) else within_session_id end`,
      path: sql<string>`replace(path, cast(${p.from} as text), cast(${p.to} as text))`,
    })
    .where('root_session_id', '=', p.from)
    .where(isRunOpen(p.now)),
);

/** Deletes a batch of ended runs. Nothing derives from them, so they are not kept as long as sign-ins. */
export const sweepRuns = sweepStatement()('sessions', 'id', (e, p) =>
  e.and([e('kind', '=', e.val('run')), isIdleSince(p.before)]),
);
