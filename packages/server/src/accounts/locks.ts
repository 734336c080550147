// The order of locks on PostgreSQL: address → account → shared organizations → service → declarations → rows
// of the account → its log. Every transaction takes the locks it needs in this order, several of one kind by
// ascending id (logs in any order), so that no two transactions wait for each other. SQLite has a single writer
// and needs none.
//
// A sign-in locks the log of its account together with inserting the session, before the rows of a notice:
// nothing else has or waits for these while the account is locked.
//
// They change nothing. Code above the account calls `lockAccount` of `identity/account/account.ts`, which
// also refuses a missing account.
//
// Tests check the order in every transaction (`tests/support/lock-order.ts`).

import { type Expression, type Kysely, sql } from 'kysely';
import type { Dialect } from '../platform/database/executor.ts';
import type { Tables } from '../platform/database/schema.ts';
import { statement, textsOf } from '../platform/database/statement.ts';

/**
 * Locks an address, with the others of its bucket, until the transaction ends; several by ascending bucket.
 * For a select list: the database may skip a condition.
 */
export const lockOnAddress = (email_key: Expression<string>, dialect: Dialect) =>
  dialect === 'postgres' ? sql<unknown>`cast(lock_address(${email_key}) as text)` : sql<unknown>`null`;

/** What several addresses are ordered by before they are locked. */
export const addressBucket = (email_key: Expression<string>, dialect: Dialect) =>
  dialect === 'postgres' ? sql<unknown>`address_bucket(${email_key})` : sql<unknown>`${email_key}`;

/** Locks an account until the transaction ends. Returns no row when the account does not exist. */
export const lockAccountRow = statement<{ id: string }>()((db, p, dialect) =>
  db
    .selectFrom('users')
    .select(['id', 'email', 'email_key', 'session_epoch', 'disabled_at'])
    .where('id', '=', p.id)
    .$if(dialect === 'postgres', (q) => q.forUpdate()),
);

/** Locks accounts by ascending id. `ids` is a JSON array. Returns a row for each that exists. */
export const lockAccountRows = statement<{ ids: string }>()((db, p, dialect) =>
  db
    .selectFrom('users')
    .select('id')
    .where('id', 'in', textsOf(p.ids, dialect))
    .orderBy('id')
    .$if(dialect === 'postgres', (q) => q.forUpdate()),
);

/**
 * The id of an account, as a subquery that locks it before the row it is compared with, without a round trip
 * of its own. Conditions on other tables see the state from before the wait.
 */
export const lockedAccountId = (db: Kysely<Tables>, id: Expression<string | null>, dialect: Dialect) =>
  db
    .selectFrom('users')
    .select('users.id')
    .where('users.id', '=', id as Expression<string>)
    .$if(dialect === 'postgres', (q) => q.forUpdate());
