import type { Kysely } from 'kysely';
import { type Expression, sql } from 'kysely';
import type { Dialect } from '../../platform/database/executor.ts';
import type { PlaceInList } from '../../platform/database/pagination.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { statement } from '../../platform/database/statement.ts';
import { isActive } from '../status.ts';

/** The keys of a user that would be accepted now. */
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

/** The active keys of a user from a position in the list on, newest first. */
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
