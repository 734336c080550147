import { sql } from 'kysely';
import type { Tables } from '../../platform/database/schema.ts';
import { statement } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';

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
          join.on('d.kind', '=', sql.lit('resource')).on('d.name', '=', p.resource),
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

/** Ends a token before it expires. */
export const deleteServiceToken = statement<{ id: string }>()((db, p) =>
  db.deleteFrom('service_tokens').where('id', '=', p.id),
);

/** Deletes up to `limit` tokens that have expired. */
export const sweepServiceTokens = sweepStatement()('service_tokens', 'id', (e, p) =>
  e('expires_at', '<', p.before),
);
