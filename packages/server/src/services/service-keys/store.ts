import { statement } from '../../platform/database/statement.ts';
import { textsOf } from '../../platform/database/texts.ts';

export const insertServiceKey = statement<{ id: string; name: string; secret_hash: string; now: number }>()(
  (db, p) =>
    db.insertInto('service_keys').values({
      id: p.id,
      name: p.name,
      secret_hash: p.secret_hash,
      created_at: p.now,
      rights: '',
      reach: '',
    }),
);

/** An active key. */
export const findServiceKey = statement<{ id: string }>()((db, p) =>
  db
    .selectFrom('service_keys')
    .select(['secret_hash', 'next_secret_hash', 'name', 'rights', 'resource', 'reach', 'last_used_at'])
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

/** The scopes among these names that an active service declares, with its name. */
export const findScopes = statement<{ names: string }>()((db, p, dialect) =>
  db
    .selectFrom('declarations as d')
    .innerJoin('service_keys as s', 's.id', 'd.service_id')
    .select(['d.name', 'd.sentence', 's.id as service_id', 's.name as service'])
    .where('d.kind', '=', 'scope')
    .where('d.name', 'in', textsOf(p.names, dialect))
    .where('d.withdrawn_at', 'is', null)
    .where('s.revoked_at', 'is', null),
);

/** The active service that declares a resource. */
export const findResource = statement<{ resource: string }>()((db, p) =>
  db
    .selectFrom('declarations as d')
    .innerJoin('service_keys as s', 's.id', 'd.service_id')
    .select(['s.id', 's.name'])
    .where('d.kind', '=', 'resource')
    .where('d.name', '=', p.resource)
    .where('d.withdrawn_at', 'is', null)
    .where('s.revoked_at', 'is', null),
);

/** Everything that active services declare, with the name of the service: by kind, service and name. */
export const listDeclarations = statement<{ limit: number }>()((db, p) =>
  db
    .selectFrom('declarations as d')
    .innerJoin('service_keys as s', 's.id', 'd.service_id')
    .select(['d.kind', 'd.name', 'd.sentence', 's.name as service'])
    .where('d.withdrawn_at', 'is', null)
    .where('s.revoked_at', 'is', null)
    .orderBy('d.kind')
    .orderBy('s.name')
    .orderBy('d.name')
    .limit(p.limit),
);
