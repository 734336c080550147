import type { Kysely } from 'kysely';
import { type Expression, sql } from 'kysely';
import type { PlaceInList } from '../../platform/database/pagination.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { statement } from '../../platform/database/statement.ts';

/** The keys of a user that would be accepted now. */
const activeKeys = (db: Kysely<Tables>, p: { user_id: Expression<string>; now: Expression<number> }) =>
  db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .where('s.user_id', '=', p.user_id)
    .where('s.kind', '=', 'key')
    .where('s.revoked_at', 'is', null)
    .where('s.expires_at', '>', p.now)
    .whereRef('u.session_epoch', '=', 's.session_epoch')
    .where('u.disabled_at', 'is', null);

/** The active keys of a user from a position in the list on, newest first. */
export const listKeys = statement<{ user_id: string; now: number } & PlaceInList>()((db, p) =>
  activeKeys(db, p)
    .selectAll('s')
    .where((e) => e(e.refTuple('s.created_at', 's.id'), '<', e.tuple(p.from_time, p.from_id)))
    .orderBy('s.created_at', 'desc')
    .orderBy('s.id', 'desc')
    .limit(p.limit),
);

/** How many active keys a user has. */
export const countKeys = statement<{ user_id: string; now: number }>()((db, p) =>
  activeKeys(db, p).select(sql<number>`cast(count(*) as integer)`.as('keys')),
);
