import { sql } from 'kysely';
import { lockOnAddress } from '../../platform/database/locks.ts';
import { statement } from '../../platform/database/statement.ts';

/** Locks the address of an account and its former addresses, always in the same order, and returns their keys. */
export const lockAddresses = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('users')
        .select('email_key')
        .where('id', '=', p.user_id)
        .union(
          e
            .selectFrom('email_changes')
            .select((f) => f.ref('old_email_key').$notNull().as('email_key'))
            .where('user_id', '=', p.user_id)
            .where('old_email_key', 'is not', null),
        )
        .orderBy('email_key')
        // A limit keeps the planner from flattening the subquery, which would lose this order.
        .limit(sql.lit(1_000_000))
        .as('addresses'),
    )
    .select((e) => ['addresses.email_key', lockOnAddress(e.ref('addresses.email_key'), dialect).as('lock')]),
);
