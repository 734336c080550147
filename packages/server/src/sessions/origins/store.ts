// Where the earlier sign-ins of an account came from, which a new one is compared with.

import { type Expression, type Kysely, sql } from 'kysely';
import type { Dialect } from '../../platform/database/executor.ts';
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

/** The columns of the state of an account's log. */
const logColumns = [
  'user_id',
  'base_seq',
  'base_mac',
  'head_seq',
  'head_mac',
  'head_at',
  'oldest_at',
  'seal',
] as const satisfies readonly (keyof Tables['event_chains'])[];

const stateOf = (db: Kysely<Tables>, userId: Expression<string | null>, dialect: Dialect) => {
  const object = dialect === 'postgres' ? sql`json_build_object` : sql`json_object`;
  const log = logColumns.flatMap((column) => [sql.lit(column), sql.ref(`log.${column}`)]);
  return db
    .selectFrom('event_chains as log')
    .innerJoin('users as owner', 'owner.id', 'log.user_id')
    .select(sql<string>`cast(${object}('email', owner.email, ${sql.join(log)}) as text)`.as('state'))
    .where('log.user_id', '=', userId as Expression<string>);
};

/**
 * What `startAtOnce` needs of an account, for the statement that finds the proof: the account's address and the state of its log at that
 * moment, as JSON. Null for an account without a log. `userId` names its table, since these tables have such columns, too.
 */
export const accountState = (db: Kysely<Tables>, userId: Expression<string | null>, dialect: Dialect) =>
  stateOf(db, userId, dialect).$asScalar();

/** The same of an account whose id is known. */
export const findAccountState = lookup((db, p, dialect) => stateOf(db, p.id, dialect));

/** The origins that a sign-in in a browser is compared with, as a JSON array of pairs. */
export const browserOrigins = (db: Kysely<Tables>, userId: Expression<string>, dialect: Dialect) => {
  const list =
    dialect === 'postgres'
      ? sql<string>`coalesce(cast(json_agg(json_build_array(ip_address, user_agent)) as text), '[]')`
      : sql<string>`json_group_array(json_array(ip_address, user_agent))`;
  const places = db
    .selectFrom(newestBrowsers(db, userId).as('newest'))
    .select(['ip_address', 'user_agent'])
    .distinct();
  return db.selectFrom(places.as('places')).select(list.as('origins')).$asScalar().$notNull();
};

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
