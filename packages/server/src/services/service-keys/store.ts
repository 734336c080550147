import { statement } from '../../platform/database/statement.ts';

export const insertServiceKey = statement<{ id: string; name: string; secret_hash: string; now: number }>()(
  (db, p) =>
    db.insertInto('service_keys').values({
      id: p.id,
      name: p.name,
      secret_hash: p.secret_hash,
      created_at: p.now,
    }),
);

/** An active key. */
export const findServiceKey = statement<{ id: string }>()((db, p) =>
  db
    .selectFrom('service_keys')
    .select(['secret_hash', 'last_used_at'])
    .where('id', '=', p.id)
    .where('revoked_at', 'is', null),
);

/** All keys, revoked ones included, oldest first. */
export const listServiceKeys = statement<Record<never, never>>()((db) =>
  db
    .selectFrom('service_keys')
    .select(['id', 'name', 'created_at', 'last_used_at', 'revoked_at'])
    .orderBy('created_at')
    .orderBy('id'),
);

/** Updates the last use of a key, unless it was already updated since `unless_since`. */
export const touchServiceKey = statement<{ id: string; now: number; unless_since: number }>()((db, p) =>
  db
    .updateTable('service_keys')
    .set({ last_used_at: p.now })
    .where('id', '=', p.id)
    .where((e) => e.or([e('last_used_at', 'is', null), e('last_used_at', '<', p.unless_since)])),
);

/** Revokes an active key; a row for exactly one caller. */
export const revokeServiceKey = statement<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('service_keys')
    .set({ revoked_at: p.now })
    .where('id', '=', p.id)
    .where('revoked_at', 'is', null)
    .returning('id'),
);
