import { sql } from 'kysely';
import { addressBucket, lockOnAddress } from '../../platform/database/locks.ts';
import { statement } from '../../platform/database/statement.ts';

/** Locks the address of an account and its former addresses, always in the same order, and returns their keys. */
export const lockAddresses = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('users')
        .select((f) => ['email_key', addressBucket(f.ref('email_key'), dialect).as('bucket')])
        .where('id', '=', p.user_id)
        .union(
          e
            .selectFrom('email_changes')
            .select((f) => {
              const key = f.ref('old_email_key').$notNull();
              return [key.as('email_key'), addressBucket(key, dialect).as('bucket')];
            })
            .where('user_id', '=', p.user_id)
            .where('old_email_key', 'is not', null),
        )
        .orderBy('bucket')
        // A limit keeps the planner from flattening the subquery, which would lose this order.
        .limit(sql.lit(1_000_000))
        .as('addresses'),
    )
    .select((e) => ['addresses.email_key', lockOnAddress(e.ref('addresses.email_key'), dialect).as('lock')]),
);
