// The order of locks on PostgreSQL: address → account → what the account has → its log. Every transaction takes what it
// needs of these in this order, so that no two wait for each other. SQLite has one writer and needs none.
//
// The locks live here and not with the account, whose row they lock: sessions, passkeys, device logins, organizations
// and the log take them as well, and the account imports some of these. They decide nothing and change nothing. Use cases
// above the account call `lockAccount` of `account/account.ts`, which also refuses an account that is gone.
//
// In tests each transaction of a service is held to the order (`tests/support/lock-order.ts`).

import { type Expression, type Kysely, sql } from 'kysely';
import type { Dialect } from './executor.ts';
import type { Tables } from './schema.ts';
import { statement } from './statement.ts';

/** The first key of the advisory locks on addresses. */
const addressLocks = 0x6164;

/**
 * Locks an address until the transaction ends. Select it beside rows, never compare with it: a condition may be skipped.
 */
export const lockOnAddress = (email_key: Expression<string>, dialect: Dialect) =>
  dialect === 'postgres'
    ? sql<unknown>`cast(pg_advisory_xact_lock(${sql.lit(addressLocks)}, hashtext(${email_key})) as text)`
    : sql<unknown>`null`;

/** Locks an account until the transaction ends; no row when it is gone. The first lock of an account, after its address. */
export const lockAccountRow = statement<{ id: string }>()((db, p, dialect) =>
  db
    .selectFrom('users')
    .select(['id', 'email', 'email_key', 'session_epoch', 'disabled_at'])
    .where('id', '=', p.id)
    .$if(dialect === 'postgres', (q) => q.forUpdate()),
);

/**
 * The id of an account, which is locked before the row that a statement compares it with: for a single row of the
 * account that is changed first in its transaction, without a round trip for the lock. Conditions on other tables see
 * the state from before the wait.
 */
export const lockedAccountId = (db: Kysely<Tables>, id: Expression<string | null>, dialect: Dialect) =>
  db
    .selectFrom('users')
    .select('users.id')
    .where('users.id', '=', id as Expression<string>)
    .$if(dialect === 'postgres', (q) => q.forUpdate());
