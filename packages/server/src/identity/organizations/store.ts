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
