import { type Expression, type ExpressionBuilder, type Kysely, type Selectable, sql } from 'kysely';
import type { Dialect } from '../platform/database/executor.ts';
import { lookup } from '../platform/database/gather.ts';
import type { Tables } from '../platform/database/schema.ts';
import { named, type Slots, statement, textsOf } from '../platform/database/statement.ts';
import { sweepStatement } from '../platform/database/sweep.ts';

/** The columns of what a service declares and may do. */
const registered = [
  'resource',
  'rights',
  'reach',
  'redirect_uris',
  'sign_out_redirect_uris',
  'public_client',
  'trusted',
] as const;

type Registered = Pick<Selectable<Tables['service_keys']>, (typeof registered)[number]>;

const findActive = (db: Kysely<Tables>, id: Expression<string>) =>
  db.selectFrom('service_keys').where('id', '=', id).where('revoked_at', 'is', null);

const updateActive = (db: Kysely<Tables>, id: Expression<string>) =>
  db.updateTable('service_keys').where('id', '=', id).where('revoked_at', 'is', null).returning('id');

export const insertServiceKey = statement<
  Registered & { id: string; name: string; secret_hash: string; now: number }
>()((db, p) =>
  db.insertInto('service_keys').values({
    ...named(p, ['id', 'name', 'secret_hash', ...registered]),
    created_at: p.now,
  }),
);

export const findServiceKey = lookup((db, p) =>
  findActive(db, p.id).select([
    'secret_hash',
    'next_secret_hash',
    'name',
    'rights',
    'resource',
    'reach',
    'last_used_at',
  ]),
);

/** Locks an active service until the transaction ends, so that changes to it wait for each other. */
export const lockServiceKey = statement<{ id: string }>()((db, p, dialect) =>
  findActive(db, p.id)
    .select(['secret_hash', ...registered])
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate()),
);

export const findClient = statement<{ id: string }>()((db, p) =>
  findActive(db, p.id).select(['name', ...registered]),
);

/** An active service, which cannot be revoked until the transaction ends. */
export const holdService = statement<{ id: string }>()((db, p, dialect) =>
  findActive(db, p.id)
    .select('id')
    .$if(dialect === 'postgres', (q) => q.forShare()),
);

/** Changes what a locked service may do. */
export const updateServiceKey = statement<Registered & { id: string }>()((db, p) =>
  db.updateTable('service_keys').set(named(p, registered)).where('id', '=', p.id),
);

export const setFeedStart = statement<{ id: string; feed_since: number; feed_from: number }>()((db, p) =>
  db
    .updateTable('service_keys')
    .set(named(p, ['feed_since', 'feed_from']))
    .where('id', '=', p.id),
);

/**
 * After a restore, when readers of the feed are missing events: what a service has cached may be out of date. Its own reader gets `gone`
 * once, because it seems to have been away for too long, and its named readers begin.
 */
export const restartFeeds = statement()((db) =>
  db.updateTable('service_keys').set({ feed_since: 0, feed_from: 0 }).where('feed_since', 'is not', null),
);

export const listServiceKeys = statement()((db) =>
  db.selectFrom('service_keys').selectAll().orderBy('created_at').orderBy('id'),
);

/** Updates the last use of a key, unless it was already updated since `unless_since`. */
export const touchServiceKey = statement<{ id: string; now: number; unless_since: number }>()((db, p) =>
  db
    .updateTable('service_keys')
    .set({ last_used_at: p.now })
    .where('id', '=', p.id)
    .where((e) => e.or([e('last_used_at', 'is', null), e('last_used_at', '<', p.unless_since)])),
);

/** Gives an active service without a secret its first one; a row for exactly one caller. */
export const addFirstSecret = statement<{ id: string; secret_hash: string }>()((db, p) =>
  updateActive(db, p.id).set({ secret_hash: p.secret_hash }).where('secret_hash', '=', ''),
);

/** Adds a second secret to an active service that has one; a row for exactly one caller. */
export const addSecret = statement<{ id: string; next_secret_hash: string }>()((db, p) =>
  updateActive(db, p.id)
    .set({ next_secret_hash: p.next_secret_hash })
    .where('secret_hash', '<>', '')
    .where('next_secret_hash', 'is', null),
);

/** Removes the older secret of an active service that has two; a row for exactly one caller. */
export const retireSecret = statement<{ id: string }>()((db, p) =>
  updateActive(db, p.id)
    .set((e) => ({ secret_hash: e.ref('next_secret_hash').$notNull(), next_secret_hash: null }))
    .where('next_secret_hash', 'is not', null),
);

/** Revokes an active key; a row for exactly one caller. */
export const revokeServiceKey = statement<{ id: string; now: number }>()((db, p) =>
  updateActive(db, p.id).set({ revoked_at: p.now }),
);

/** Scope names, as a JSON array, and a resource; '' for none. */
type Names = { readonly scopes: string; readonly resource: string };

const isNamed = (e: ExpressionBuilder<Tables, 'declarations'>, p: Slots<Names>, dialect: Dialect) =>
  e.or([
    e.and([e('kind', '=', 'scope'), e('name', 'in', textsOf(p.scopes, dialect))]),
    e.and([e('kind', '=', 'resource'), e('name', '=', p.resource)]),
  ]);

export const findOwner = statement<Pick<Tables['declarations'], 'kind' | 'name'>>()((db, p) =>
  db
    .selectFrom('declarations as d')
    .innerJoin('service_keys as s', 's.id', 'd.service_id')
    .select(['s.id', 's.name', 's.revoked_at'])
    .where('d.kind', '=', p.kind)
    .where('d.name', '=', p.name),
);

/** Locks the declarations of a service and those with these names until the transaction ends. */
export const lockDeclarations = statement<Names & { service_id: string }>()((db, p, dialect) =>
  db
    .selectFrom('declarations')
    .select('name')
    .where((e) => e.or([e('service_id', '=', p.service_id), isNamed(e, p, dialect)]))
    .orderBy('kind')
    .orderBy('name')
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate()),
);

/** The declarations with these names that are not withdrawn, which stay so until the transaction ends. */
export const holdDeclarations = statement<Names>()((db, p, dialect) =>
  db
    .selectFrom('declarations')
    .select(['kind', 'name'])
    .where((e) => isNamed(e, p, dialect))
    .where('withdrawn_at', 'is', null)
    .orderBy('kind')
    .orderBy('name')
    .$if(dialect === 'postgres', (q) => q.forShare()),
);

/** Declares a scope or resource, unless it belongs to another service; of several at once, one gets a row. */
export const declare = statement<Omit<Tables['declarations'], 'withdrawn_at'>>()((db, p) =>
  db
    .insertInto('declarations')
    .values(named(p, ['kind', 'name', 'service_id', 'sentence']))
    .onConflict((c) =>
      c
        .columns(['kind', 'name'])
        .doUpdateSet((e) => ({ sentence: e.ref('excluded.sentence'), withdrawn_at: null }))
        .where((e) => e('declarations.service_id', '=', e.ref('excluded.service_id'))),
    )
    .returning('name'),
);

/** Withdraws what a service declares of one kind, except these names: a JSON array. */
export const withdrawDeclarations = statement<{
  service_id: string;
  kind: 'scope' | 'resource';
  except: string;
  now: number;
}>()((db, p, dialect) =>
  db
    .updateTable('declarations')
    .set({ withdrawn_at: p.now })
    .where('service_id', '=', p.service_id)
    .where('kind', '=', p.kind)
    .where('name', 'not in', textsOf(p.except, dialect))
    .where('withdrawn_at', 'is', null),
);

export const findScopes = statement<{ names: string }>()((db, p, dialect) =>
  db
    .selectFrom('declarations as d')
    .innerJoin('service_keys as s', 's.id', 'd.service_id')
    .select(['d.name', 'd.sentence', 's.id as service_id', 's.name as service'])
    .where('d.kind', '=', 'scope')
    .where('d.name', 'in', textsOf(p.names, dialect))
    .where('d.withdrawn_at', 'is', null),
);

export const findResource = statement<{ resource: string }>()((db, p) =>
  db
    .selectFrom('declarations as d')
    .innerJoin('service_keys as s', 's.id', 'd.service_id')
    .select((e) => ['s.id', 's.name', e.fn.coalesce('s.resource', 'd.name').as('resource')])
    .where('d.kind', '=', 'resource')
    .where('d.name', '=', p.resource)
    .where('d.withdrawn_at', 'is', null),
);

/** Everything that services declare, with the name of the service: by kind, service and name. */
export const listDeclarations = statement<{ limit: number }>()((db, p) =>
  db
    .selectFrom('declarations as d')
    .innerJoin('service_keys as s', 's.id', 'd.service_id')
    .select(['d.kind', 'd.name', 'd.sentence', 's.name as service', 's.resource'])
    .where('d.withdrawn_at', 'is', null)
    .orderBy('d.kind')
    .orderBy('s.name')
    .orderBy('d.name')
    .limit(p.limit),
);

export const listScopes = statement()((db) =>
  db
    .selectFrom('declarations')
    .select(['service_id', 'name', 'sentence'])
    .where('kind', '=', 'scope')
    .where('withdrawn_at', 'is', null)
    .orderBy('name'),
);

/** Stores a token while its service is active and another active one declares the resource, given as declarations name it; no row otherwise. */
export const insertServiceToken = statement<
  Omit<Tables['service_tokens'], 'resource_service_id' | 'created_at'> & { now: number }
>()((db, p) =>
  db
    .insertInto('service_tokens')
    .columns(['id', 'service_id', 'resource', 'resource_service_id', 'scope', 'created_at', 'expires_at'])
    .expression(
      db
        .selectFrom('service_keys as s')
        .innerJoin('declarations as d', (join) =>
          join.on('d.kind', '=', 'resource').on('d.name', '=', p.resource),
        )
        .innerJoin('service_keys as owner', 'owner.id', 'd.service_id')
        .select((e) => [
          sql<string>`cast(${p.id} as text)`.as('id'),
          's.id as service_id',
          e.fn.coalesce('owner.resource', 'd.name').as('resource'),
          'owner.id as resource_service_id',
          sql<string>`cast(${p.scope} as text)`.as('scope'),
          sql<number>`cast(${p.now} as bigint)`.as('created_at'),
          sql<number>`cast(${p.expires_at} as bigint)`.as('expires_at'),
        ])
        .where('s.id', '=', p.service_id)
        .where('s.revoked_at', 'is', null)
        .where('d.withdrawn_at', 'is', null)
        .where('owner.revoked_at', 'is', null),
    )
    .returning('id'),
);

/** A token whose service is active, with the service that declared its resource then: no other one accepts it. */
export const findServiceToken = statement<{ id: string; now: number }>()((db, p) =>
  db
    .selectFrom('service_tokens as t')
    .innerJoin('service_keys as s', 's.id', 't.service_id')
    .select([
      't.service_id as serviceId',
      't.resource',
      't.resource_service_id as resourceServiceId',
      't.scope',
      't.created_at as issuedAt',
      't.expires_at as endsAt',
    ])
    .where('t.id', '=', p.id)
    .where('t.expires_at', '>', p.now)
    .where('s.revoked_at', 'is', null),
);

export const deleteServiceToken = statement<{ id: string }>()((db, p) =>
  db.deleteFrom('service_tokens').where('id', '=', p.id),
);

export const sweepServiceTokens = sweepStatement()('service_tokens', 'id', (e, p) =>
  e('expires_at', '<', p.before),
);
