import { statement } from '../../platform/database/statement.ts';

/** Creates an organization; no row if its slug is taken. */
export const insertOrganization = statement<{
  id: string;
  slug: string;
  name: string;
  personal: number;
  now: number;
}>()((db, p) =>
  db
    .insertInto('organizations')
    .values({ id: p.id, slug: p.slug, name: p.name, personal: p.personal, created_at: p.now })
    .onConflict((c) => c.column('slug').doNothing())
    .returning('id'),
);

/** Adds a member, or changes the role of an existing one. */
export const upsertMembership = statement<{
  user_id: string;
  organization_id: string;
  role: 'owner' | 'admin' | 'member';
  now: number;
}>()((db, p) =>
  db
    .insertInto('memberships')
    .values({ user_id: p.user_id, organization_id: p.organization_id, role: p.role, joined_at: p.now })
    .onConflict((c) => c.columns(['user_id', 'organization_id']).doUpdateSet({ role: p.role })),
);

export const findOrganizationBySlug = statement<{ slug: string }>()((db, p) =>
  db.selectFrom('organizations').select(['id', 'personal']).where('slug', '=', p.slug),
);

/** The memberships of a user after a position in the list: oldest first, then by organization id. */
export const listMemberships = statement<{
  user_id: string;
  after_time: number;
  after_id: string;
  limit: number;
}>()((db, p) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['o.id', 'o.slug', 'o.name', 'o.personal', 'm.role', 'm.joined_at'])
    .where('m.user_id', '=', p.user_id)
    .where((e) =>
      e.or([
        e('m.joined_at', '>', p.after_time),
        e.and([e('m.joined_at', '=', p.after_time), e('o.id', '>', p.after_id)]),
      ]),
    )
    .orderBy('m.joined_at')
    .orderBy('o.id')
    .limit(p.limit),
);

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

/** The shared organizations that would have no owner without this user. */
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

/** Deletes the personal organization of a user. */
export const deletePersonalOrganization = statement<{ user_id: string }>()((db, p) =>
  db
    .deleteFrom('organizations')
    .where('personal', '=', 1)
    .where('id', 'in', (e) =>
      e.selectFrom('memberships').select('organization_id').where('user_id', '=', p.user_id),
    ),
);

/** Every membership of the user with its organization, oldest first. */
export const exportMemberships = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['o.id', 'o.slug', 'o.name', 'o.personal', 'm.role', 'm.joined_at'])
    .where('m.user_id', '=', p.user_id)
    .orderBy('m.joined_at'),
);
