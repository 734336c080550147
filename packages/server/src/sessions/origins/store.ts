// Where the earlier sign-ins of an account came from, which a new one is compared with.

import { type Expression, type Kysely, sql } from 'kysely';
import { lookup } from '../../platform/database/lookup.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { statement } from '../../platform/database/statement.ts';

/** How many of the account's newest sign-ins a new one is compared with. */
const maxCompared = 100;

const newestBrowsers = (db: Kysely<Tables>, userId: Expression<string>) =>
  db
    .selectFrom('sessions')
    .select(['ip_address', 'user_agent'])
    .where('user_id', '=', userId)
    .where('kind', '=', sql.lit('browser'))
    .where('distrusted_as', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(sql.lit(maxCompared));

/** The origins of the user's newest browser sign-ins, ended sessions included, stolen and disowned ones excluded. */
export const listBrowserOrigins = statement<{ user_id: string }>()((db, p) => newestBrowsers(db, p.user_id));

/** The state of the log of a user, with the user's address and these origins (a JSON array of pairs) at that moment. */
export const findLogWithOrigins = lookup((db, p, dialect) => {
  const list =
    dialect === 'postgres'
      ? sql<string>`coalesce(cast(json_agg(json_build_array(ip_address, user_agent)) as text), '[]')`
      : sql<string>`json_group_array(json_array(ip_address, user_agent))`;
  const places = db
    .selectFrom(newestBrowsers(db, p.id).as('newest'))
    .select(['ip_address', 'user_agent'])
    .distinct();
  return db
    .selectFrom('event_chains')
    .innerJoin('users', 'users.id', 'event_chains.user_id')
    .selectAll('event_chains')
    .select('users.email')
    .select(
      db.selectFrom(places.as('places')).select(list.as('origins')).$asScalar().$notNull().as('origins'),
    )
    .where('event_chains.user_id', '=', p.id);
});

/** The origins of the user's newest sign-ins to an application, ended ones included, stolen and disowned ones excluded. */
export const listAppOrigins = statement<{ user_id: string; client_id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select(['ip_address', 'user_agent'])
    .where('user_id', '=', p.user_id)
    .where('client_id', '=', p.client_id)
    .where('distrusted_as', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(sql.lit(maxCompared)),
);
