import { sql } from 'kysely';
import { lookup } from '../../platform/database/gather.ts';
import type { PlaceInList } from '../../platform/database/pagination.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, statement, textsOf } from '../../platform/database/statement.ts';

/** Creates an organization; no row if its slug is taken. */
export const insertOrganization = statement<Omit<Tables['organizations'], 'created_at'> & { now: number }>()(
  (db, p) =>
    db
      .insertInto('organizations')
      .values({ ...named(p, ['id', 'slug', 'name', 'personal']), created_at: p.now })
      .onConflict((c) => c.column('slug').doNothing())
      .returningAll(),
);

export const renameOrganization = statement<{ id: string; name: string }>()((db, p) =>
  db.updateTable('organizations').set({ name: p.name }).where('id', '=', p.id),
);

/** Deletes an organization. Lock the accounts of its members before: memberships go with it (CASCADE). */
export const deleteOrganization = statement<{ id: string }>()((db, p) =>
  db.deleteFrom('organizations').where('id', '=', p.id),
);

export const upsertMembership = statement<Omit<Tables['memberships'], 'joined_at'> & { now: number }>()(
  (db, p) =>
    db
      .insertInto('memberships')
      .values({ user_id: p.user_id, organization_id: p.organization_id, role: p.role, joined_at: p.now })
      .onConflict((c) => c.columns(['user_id', 'organization_id']).doUpdateSet({ role: p.role })),
);

/** Removes these members; a row with the former role of each. `user_ids` is a JSON array. */
export const deleteMemberships = statement<{ organization_id: string; user_ids: string }>()(
  (db, p, dialect) =>
    db
      .deleteFrom('memberships')
      .where('organization_id', '=', p.organization_id)
      .where('user_id', 'in', textsOf(p.user_ids, dialect))
      .returning(['user_id', 'role']),
);

export const findOrganizationBySlug = statement<{ slug: string }>()((db, p) =>
  db.selectFrom('organizations').selectAll().where('slug', '=', p.slug),
);

/** Locks an organization until the transaction ends, so that changes to its members wait for each other. */
export const lockOrganizationBySlug = statement<{ slug: string }>()((db, p, dialect) =>
  db
    .selectFrom('organizations')
    .selectAll()
    .where('slug', '=', p.slug)
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate()),
);

/** Locks an organization for its deletion: nothing can be added to it from then on. */
export const lockOrganization = statement<{ id: string }>()((db, p, dialect) =>
  db
    .selectFrom('organizations')
    .selectAll()
    .where('id', '=', p.id)
    .$if(dialect === 'postgres', (q) => q.forUpdate()),
);

/** A page of the organizations with their counts, by slug. `most_personal`: 1 for personal ones, too. */
export const listOrganizations = statement<{ after: string; limit: number; most_personal: number }>()(
  (db, p) =>
    db
      .selectFrom('organizations as o')
      .select(['o.id', 'o.slug', 'o.name', 'o.created_at'])
      .select((e) => {
        const members = e
          .selectFrom('memberships as m')
          .select(sql<number>`cast(count(*) as integer)`.as('n'))
          .whereRef('m.organization_id', '=', 'o.id');
        return [members.as('members'), members.where('m.role', '=', 'owner').as('owners')];
      })
      .where('o.personal', '<=', p.most_personal)
      .where('o.slug', '>', p.after)
      .orderBy('o.slug')
      .limit(p.limit),
);

/** The members of an organization after a position in the list: oldest first, then by user id. */
export const listMembers = statement<{ organization_id: string } & PlaceInList>()((db, p) =>
  db
    // Only the members of the page are looked up.
    .selectFrom((e) =>
      e
        .selectFrom('memberships')
        .select(['user_id', 'role', 'joined_at'])
        .where('organization_id', '=', p.organization_id)
        .where((f) => f(f.refTuple('joined_at', 'user_id'), '>', f.tuple(p.from_time, p.from_id)))
        .orderBy('joined_at')
        .orderBy('user_id')
        .limit(p.limit)
        .as('m'),
    )
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['m.user_id', 'u.name', 'u.email', 'm.role', 'm.joined_at'])
    .orderBy('m.joined_at')
    .orderBy('m.user_id'),
);

export const findMember = statement<{ organization_id: string; user_id: string }>()((db, p) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['m.user_id', 'u.name', 'm.role', 'm.joined_at'])
    .where('m.organization_id', '=', p.organization_id)
    .where('m.user_id', '=', p.user_id),
);

export const findOtherOwner = statement<{ organization_id: string; user_id: string }>()((db, p) =>
  db
    .selectFrom('memberships')
    .select('user_id')
    .where('organization_id', '=', p.organization_id)
    .where('role', '=', 'owner')
    .where('user_id', '<>', p.user_id)
    .limit(1),
);

/** Up to `limit` members to remove next, owners last. Reads no more than that many of each. */
export const listNextToLeave = statement<{ organization_id: string; limit: number }>()((db, p) => {
  const some = (isOwner: '=' | '<>') =>
    db
      .selectFrom('memberships')
      .select(['user_id', 'role'])
      .where('organization_id', '=', p.organization_id)
      .where('role', isOwner, 'owner')
      .limit(p.limit)
      .as('some');
  return db
    .selectFrom(
      db
        .selectFrom(some('<>'))
        .selectAll()
        .unionAll(db.selectFrom(some('=')).selectAll())
        .as('members'),
    )
    .select('user_id')
    .orderBy((e) => e('role', '=', 'owner'))
    .limit(p.limit);
});

/** The memberships of a user after a position in the list: oldest first, then by organization id. */
export const listMemberships = statement<{ user_id: string } & PlaceInList>()((db, p) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['o.id', 'o.slug', 'o.name', 'o.personal', 'm.role', 'm.joined_at'])
    .where('m.user_id', '=', p.user_id)
    .where((e) => e(e.refTuple('m.joined_at', 'o.id'), '>', e.tuple(p.from_time, p.from_id)))
    .orderBy('m.joined_at')
    .orderBy('o.id')
    .limit(p.limit),
);

/** The maximum number of organizations that introspection lists for a user. */
export const maxListedOrganizations = 100;

/**
 * A user with the first of their organizations, as JSON `[id, slug, role]`: the personal one first, then by
 * oldest membership. One more than the maximum shows that there are others.
 */
export const findUserWithOrganizations = lookup((db, p, dialect) => {
  const asJson =
    dialect === 'postgres'
      ? sql`coalesce(cast(json_agg(json_build_array(id, slug, role)) as text), '[]')`
      : sql`json_group_array(json_array(id, slug, role))`;
  return db
    .selectFrom('users as u')
    .select((e) => {
      const first = e
        .selectFrom('memberships as m')
        .innerJoin('organizations as o', 'o.id', 'm.organization_id')
        .select(['o.id', 'o.slug', 'm.role'])
        .whereRef('m.user_id', '=', 'u.id')
        .orderBy('o.personal', 'desc')
        .orderBy('m.joined_at')
        .orderBy('o.id')
        .limit(maxListedOrganizations + 1)
        .as('first');
      return [
        'u.name',
        'u.email',
        'u.email_verified',
        sql<string>`(select ${asJson} from ${first})`.as('organizations'),
      ];
    })
    .where('u.id', '=', p.id);
});

/** Locks the shared organizations that a user owns, so that the last two owners cannot both leave. */
export const lockOwnedOrganizations = statement<{ user_id: string }>()((db, p, dialect) =>
  db
    .selectFrom('organizations')
    .select('id')
    .where('personal', '=', 0)
    .where('id', 'in', (e) =>
      e
        .selectFrom('memberships')
        .select('organization_id')
        .where('user_id', '=', p.user_id)
        .where('role', '=', 'owner'),
    )
    .orderBy('id')
    .$if(dialect === 'postgres', (q) => q.forNoKeyUpdate()),
);

export const listSolelyOwned = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('organizations as o')
    .innerJoin('memberships as m', 'm.organization_id', 'o.id')
    .select('o.slug')
    .where('m.user_id', '=', p.user_id)
    .where('m.role', '=', 'owner')
    .where('o.personal', '=', 0)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('memberships as other')
            .select('other.user_id')
            .whereRef('other.organization_id', '=', 'o.id')
            .where('other.role', '=', 'owner')
            .where('other.user_id', '<>', p.user_id),
        ),
      ),
    )
    .orderBy('o.slug'),
);

/** Deletes the personal organization of a user, whose other memberships go with the account. */
export const deletePersonalOrganization = statement<{ user_id: string }>()((db, p) =>
  db
    .deleteFrom('organizations')
    .where('personal', '=', 1)
    .where('id', 'in', (e) =>
      e.selectFrom('memberships').select('organization_id').where('user_id', '=', p.user_id),
    ),
);
