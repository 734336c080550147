import type { Tables } from '../../platform/database/schema.ts';
import { named, statement } from '../../platform/database/statement.ts';

export const listKeys = statement()((db) =>
  db.selectFrom('signing_keys').selectAll().orderBy('sequence', 'desc'),
);

/** Adds the key with this sequence number; a row for exactly one caller. */
export const insertKey = statement<Tables['signing_keys']>()((db, p) =>
  db
    .insertInto('signing_keys')
    .values(named(p, ['sequence', 'kid', 'public_jwk', 'sealed_private', 'signs_from']))
    .onConflict((c) => c.column('sequence').doNothing())
    .returning('sequence'),
);

/** Replaces the encrypted private key, unless another node already has. */
export const reencryptKey = statement<{ sequence: number; from: string; to: string }>()((db, p) =>
  db
    .updateTable('signing_keys')
    .set({ sealed_private: p.to })
    .where('sequence', '=', p.sequence)
    .where('sealed_private', '=', p.from),
);

/** Deletes the keys with a lower sequence number, public and private halves. */
export const deleteKeysBefore = statement<{ sequence: number }>()((db, p) =>
  db.deleteFrom('signing_keys').where('sequence', '<', p.sequence).returning('kid'),
);
