import { statement } from '../../platform/database/statement.ts';

/** All signing keys, newest first. */
export const listKeys = statement<Record<never, never>>()((db) =>
  db
    .selectFrom('signing_keys')
    .select(['sequence', 'kid', 'public_jwk', 'sealed_private', 'signs_from'])
    .orderBy('sequence', 'desc'),
);

/** Adds the key of this place in the sequence; a row for exactly one of those who try. */
export const insertKey = statement<{
  sequence: number;
  kid: string;
  public_jwk: string;
  sealed_private: string;
  signs_from: number;
}>()((db, p) =>
  db
    .insertInto('signing_keys')
    .values({
      sequence: p.sequence,
      kid: p.kid,
      public_jwk: p.public_jwk,
      sealed_private: p.sealed_private,
      signs_from: p.signs_from,
    })
    .onConflict((c) => c.column('sequence').doNothing())
    .returning('sequence'),
);

/** Puts the same private key under another key of the ring, unless someone has done so. */
export const reencryptKey = statement<{ sequence: number; from: string; to: string }>()((db, p) =>
  db
    .updateTable('signing_keys')
    .set({ sealed_private: p.to })
    .where('sequence', '=', p.sequence)
    .where('sealed_private', '=', p.from),
);

/** Deletes the keys before a place in the sequence, private halves and all. */
export const deleteKeysBefore = statement<{ sequence: number }>()((db, p) =>
  db.deleteFrom('signing_keys').where('sequence', '<', p.sequence).returning('kid'),
);
