import { fieldLimits } from '@latchkey/contract/field-limits';
import {
  type Member,
  type OrganizationRecord,
  type OrganizationRole,
  organizationName,
  organizationSlug,
} from '@latchkey/contract/organizations';
import { lockAccountRow, lockAccountRows } from '../../accounts/locks.ts';
import type { Context } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/primitives.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { type PageRequest, paginate, placeOf } from '../../platform/database/pagination.ts';
import { Raced, untilDone } from '../../platform/database/races.ts';
import type { Tables } from '../../platform/database/schema.ts';
import {
  AuthError,
  conflict,
  invalidRequest,
  invalidSlug,
  temporarilyUnavailable,
} from '../../platform/errors.ts';
import { shown } from '../../platform/values/shown.ts';
import { recordEvent } from '../../security-log/events/events.ts';
import { writeFeedEvent } from '../../security-log/feed-events/feed-events.ts';
import * as store from './store.ts';

const maxSlugAttempts = 5;
const slugSuffixBytes = 4;
/** Together with the suffix, a personal slug is one that a shared organization could have. */
const maxSlugBase = 30;

/** Creates the organization that every account comes with, owned by the user. */
export async function createPersonalOrganization(
  ctx: Context,
  tx: Executor,
  user: { id: string; name: string },
): Promise<void> {
  const base = slugFrom(user.name);
  for (let attempt = 0; attempt < maxSlugAttempts; attempt++) {
    const slug = `${base}-${ctx.random(slugSuffixBytes).toString('hex')}`;
    const created = await insertOrganization(ctx, tx, { slug, name: user.name, personal: 1 });
    if (!created) continue;
    await store.upsertMembership(tx, {
      user_id: user.id,
      organization_id: created.id,
      role: 'owner',
      now: ctx.clock(),
    });
    return;
  }
  throw new Error('found no free slug for a personal organization');
}

/** Turns a name into a slug of up to 30 lower-case ASCII letters, digits and inner hyphens. */
const slugFrom = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxSlugBase)
    .replace(/^-+|-+$/g, '') || 'personal';

const insertOrganization = async (
  ctx: Context,
  tx: Executor,
  organization: { slug: string; name: string; personal: number },
) => {
  const id = newId('org_', ctx.random);
  return (await store.insertOrganization(tx, { ...organization, id, now: ctx.clock() })).at(0);
};

type OrganizationRow = NonNullable<Awaited<ReturnType<typeof insertOrganization>>>;

const recordOf = (row: OrganizationRow): OrganizationRecord =>
  shown(row, ['id', 'slug', 'name', 'created_at']);

/**
 * Creates an organization without members, or renames it if it exists, as far as that is permitted.
 * @throws {AuthError} `conflict` for a personal organization; `precondition_failed` if the required operation
 * is not permitted; `invalid_request` for an invalid name or slug
 */
export async function putOrganization(
  ctx: Context,
  slug: string,
  name: string,
  permitted: { readonly create: boolean; readonly rename: boolean },
): Promise<{ organization: OrganizationRecord; isNew: boolean }> {
  // No schema has checked what an operator types.
  if (!organizationName.safeParse(name).success)
    throw invalidRequest(`name: must be 1-${fieldLimits.organizationName} printable characters`);
  if (!organizationSlug.test(slug)) throw invalidSlug();
  return ctx.db.transaction(async (tx) => {
    const created = permitted.create && (await insertOrganization(ctx, tx, { slug, name, personal: 0 }));
    if (created) return { organization: recordOf(created), isNew: true };
    const [existing] = await store.lockOrganizationBySlug(tx, { slug });
    if (!existing && permitted.create)
      throw temporarilyUnavailable(new Error('an organization was deleted while it was being renamed'));
    if (!existing)
      throw new AuthError('precondition_failed', `There is no organization with the slug ${slug}.`);
    requireShared(existing);
    if (!permitted.rename)
      throw new AuthError(
        'precondition_failed',
        `There already is an organization ${slug}, and this request does not rename it.`,
      );
    if (existing.name !== name) await store.renameOrganization(tx, { id: existing.id, name });
    return { organization: recordOf({ ...existing, name }), isNew: false };
  });
}

/** One page of the organizations of a user, oldest membership first. */
export async function listOrganizations(ctx: Context, userId: string, page: PageRequest) {
  const place = placeOf(page, { time: -1, id: 'org_' });
  const rows = await store.listMemberships(ctx.db.read, { user_id: userId, ...place });
  const { entries, next_cursor } = paginate(rows, page.limit, (row) => ({ time: row.joined_at, id: row.id }));
  const organizations = entries.map((row) => ({
    ...shown(row, ['id', 'slug', 'name', 'role', 'personal', 'joined_at']),
    personal: row.personal === 1,
  }));
  return { organizations, next_cursor };
}

/** A page of the organizations, by slug, which is the cursor; with `personal` also those of accounts. */
export async function listAllOrganizations(
  ctx: Context,
  { personal, limit, cursor: after = '' }: PageRequest & { readonly personal: boolean },
) {
  const most_personal = Number(personal);
  const rows = await store.listOrganizations(ctx.db.read, { after, limit, most_personal });
  const organizations = rows.map((row) => ({ ...row, created_at: new Date(row.created_at).toISOString() }));
  return { organizations, next_cursor: rows.length < limit ? null : rows.at(-1)!.slug };
}

/** @throws {AuthError} `not_found` */
export async function findOrganization(ctx: Context, slug: string) {
  const row = await requireOrganization(ctx.db.read, slug);
  return { ...recordOf(row), personal: row.personal === 1 };
}

/**
 * Deletes an organization and records that for each member. One with more than 100 members loses them in
 * batches, owners last; if that is interrupted, deleting it again continues.
 * @throws {AuthError} `not_found`; `conflict` for a personal organization
 */
export async function deleteOrganization(ctx: Context, slug: string, by: ChangedBy): Promise<void> {
  const organization = await requireOrganization(ctx.db.read, slug);
  requireShared(organization);
  await untilDone(ctx.db, 'members kept joining an organization while it was being deleted', (tx) =>
    // By id: another organization may get the slug once this one is gone.
    deleteBatch(ctx, tx, organization.id, by),
  );
}

/** What a service may learn about the user of a token. */
type UserWithOrganizations = NonNullable<Awaited<ReturnType<typeof findUserWithOrganizations>>>;

/** A user with up to 100 organizations, the personal one first, then by oldest membership. */
export async function findUserWithOrganizations(on: Executor, id: string) {
  const [user] = await store.findUserWithOrganizations(on, { id });
  if (!user) return undefined;
  const found = JSON.parse(user.organizations) as [id: string, slug: string, role: OrganizationRole][];
  return {
    name: user.name,
    email: user.email,
    emailVerified: user.email_verified === 1,
    organizations: found
      .slice(0, store.maxListedOrganizations)
      .map(([id, slug, role]) => ({ id, slug, role })),
    isTruncated: found.length > store.maxListedOrganizations,
  };
}

/** The organizations as tokens tell them. */
export const organizationClaims = ({ organizations, isTruncated }: UserWithOrganizations) => ({
  organizations,
  ...(isTruncated ? { organizations_truncated: true as const } : {}),
});

/** A member with the address, which only the operator sees. */
export type MemberWithEmail = Member & { readonly email: string };

/** One page of the members of an organization, oldest membership first. @throws {AuthError} `not_found` */
export async function listMembers(ctx: Context, slug: string, page: PageRequest) {
  const place = placeOf(page, { time: -1, id: 'usr_' });
  const organization = await requireOrganization(ctx.db.read, slug);
  const rows = await store.listMembers(ctx.db.read, { organization_id: organization.id, ...place });
  const { entries, next_cursor } = paginate(rows, page.limit, ({ joined_at: time, user_id: id }) => ({
    time,
    id,
  }));
  return { members: entries.map((row) => ({ ...memberOf(row), email: row.email })), next_cursor };
}

/**
 * Adds a user to an organization, or changes the role of a member. Records nothing if nothing changes.
 * @throws {AuthError} `not_found`; `conflict` for a personal organization, and for the role of the last owner
 */
export const setMember = (
  ctx: Context,
  slug: string,
  userId: string,
  role: OrganizationRole,
  by: ChangedBy,
): Promise<Member> =>
  ctx.db.transaction(async (tx) => {
    const { organization, key, row } = await lockForChange(tx, slug, userId);
    if (row?.role === role) return memberOf(row);
    if (row?.role === 'owner') await requireOtherOwner(tx, key);
    await store.upsertMembership(tx, { ...key, role, now: ctx.clock() });
    const [changed] = await store.findMember(tx, key);
    const change = { userId, organization, from: row?.role ?? null, to: role };
    await recordMembershipChange(ctx, tx, change, by);
    return memberOf(changed!);
  });

/**
 * Adds a user of a locked account to organizations; a member keeps the role it has. Returns how many
 * memberships are new, and the organizations in which the role is another one.
 * @throws {AuthError} `not_found` if there is no such organization; `conflict` for a personal one
 */
export async function addMemberships(
  ctx: Context,
  tx: Executor,
  userId: string,
  memberships: readonly { readonly slug: string; readonly role: OrganizationRole }[],
  by: ChangedBy,
): Promise<{ readonly added: number; readonly otherRoles: readonly string[] }> {
  const found = await Promise.all(
    memberships.map(async (membership) => {
      const { id } = await requireOrganization(tx, membership.slug);
      return { ...membership, id };
    }),
  );
  const missing: { key: { organization_id: string; user_id: string }; change: MembershipChange }[] = [];
  const otherRoles: string[] = [];
  // All locks before the first change, by ascending id.
  for (const { slug, role } of found.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const { organization, key, row } = await lockForChange(tx, slug, userId);
    if (!row) missing.push({ key, change: { userId, organization, from: null, to: role } });
    else if (row.role !== role) otherRoles.push(slug);
  }
  for (const { key, change } of missing) {
    await store.upsertMembership(tx, { ...key, role: change.to!, now: ctx.clock() });
    await recordMembershipChange(ctx, tx, change, by);
  }
  return { added: missing.length, otherRoles };
}

/**
 * Removes a member from an organization.
 * @throws {AuthError} `not_found`; `conflict` for a personal organization and for the last owner
 */
export const removeMember = (ctx: Context, slug: string, userId: string, by: ChangedBy): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const { organization, key, row } = await lockForChange(tx, slug, userId);
    if (!row) throw noSuchMember();
    if (row.role === 'owner') await requireOtherOwner(tx, key);
    await store.deleteMemberships(tx, {
      organization_id: organization.id,
      user_ids: JSON.stringify([userId]),
    });
    await recordMembershipChange(ctx, tx, { userId, organization, from: row.role, to: null }, by);
  });

/**
 * Refuses to delete the only owner of a shared organization. Locks the organizations that the user owns, so
 * that the last two owners cannot both be deleted at once.
 * @throws {AuthError} `conflict`
 */
export async function requireOtherOwners(tx: Executor, userId: string): Promise<void> {
  await store.lockOwnedOrganizations(tx, { user_id: userId });
  const owned = await store.listSolelyOwned(tx, { user_id: userId });
  if (owned.length === 0) return;
  const slugs = owned.map(({ slug }) => slug).join(', ');
  throw conflict(`The account is the only owner of ${slugs}. Make another member an owner first.`);
}

export const { deletePersonalOrganization } = store;

/** The memberships of a user and their organizations for the export of personal data. */
export const exportMemberships = (on: Executor, userId: string) =>
  store.listMemberships(on, { user_id: userId, from_time: -1, from_id: '', limit: 2 ** 31 - 1 });

/** How many members leave in one transaction, which keeps their accounts locked. */
const batchSize = 100;

/**
 * Removes the next batch of members and, with the last of them, the organization. Accounts are locked first,
 * as everywhere, so users may still join until the organization is locked.
 * @throws {Raced} when members joined meanwhile, so that the batch starts over
 */
async function deleteBatch(ctx: Context, tx: Executor, id: string, by: ChangedBy): Promise<'done' | 'more'> {
  const found = await nextMembers(tx, id);
  const accounts = await lockAccountRows(tx, { ids: JSON.stringify(found.userIds) });
  const [organization] = await store.lockOrganization(tx, { id });
  if (!organization) return 'done';

  const locked = accounts.map((account) => account.id);
  const { userIds, isLast } = await nextMembers(tx, id);
  if (isLast && userIds.some((userId) => !locked.includes(userId))) throw new Raced();
  const batch = { organization_id: id, user_ids: JSON.stringify(locked) };
  const removed = await store.deleteMemberships(tx, batch);
  if (isLast) await store.deleteOrganization(tx, { id });
  for (const { user_id: userId, role: from } of removed) {
    const change = { userId, organization, from, to: null, reason: 'organization_deleted' } as const;
    await recordMembershipChange(ctx, tx, change, by);
  }
  if (isLast) return 'done';
  if (removed.length === 0) throw new Raced();
  return 'more';
}

/** The members of the next batch; all that are left if it is the last. Owners leave after all others. */
async function nextMembers(tx: Executor, id: string) {
  const members = await store.listNextToLeave(tx, { organization_id: id, limit: batchSize + 1 });
  const userIds = members.slice(0, batchSize).map(({ user_id }) => user_id);
  return { userIds, isLast: members.length <= batchSize };
}

const noSuchOrganization = (slug: string): AuthError =>
  new AuthError('not_found', `There is no organization with the slug ${slug}.`);

/** @throws {AuthError} `not_found` */
async function requireOrganization(on: Executor, slug: string) {
  const [organization] = await store.findOrganizationBySlug(on, { slug });
  if (!organization) throw noSuchOrganization(slug);
  return organization;
}

/** @throws {AuthError} `conflict`: a personal organization belongs to its account and only changes with it */
function requireShared({ slug, personal }: Pick<Tables['organizations'], 'slug' | 'personal'>): void {
  if (personal === 1) throw conflict(`${slug} is a personal organization.`);
}

type MemberRow = Awaited<ReturnType<typeof store.findMember>>[number];

const memberOf = (row: MemberRow): Member => shown(row, ['user_id', 'name', 'role', 'joined_at']);

const noSuchMember = () => new AuthError('not_found', 'The user is not a member of this organization.');

/** @throws {AuthError} `not_found` */
export async function findMember(ctx: Context, slug: string, userId: string): Promise<Member> {
  const organization = await requireOrganization(ctx.db.read, slug);
  const [row] = await store.findMember(ctx.db.read, { organization_id: organization.id, user_id: userId });
  if (!row) throw noSuchMember();
  return memberOf(row);
}

/** Locks an account, then a shared organization, so that changes to its members come one after the other. */
async function lockForChange(tx: Executor, slug: string, userId: string) {
  const [account] = await lockAccountRow(tx, { id: userId });
  const [organization] = await store.lockOrganizationBySlug(tx, { slug });
  if (!organization) throw noSuchOrganization(slug);
  requireShared(organization);
  if (!account) throw new AuthError('not_found', 'There is no such account.');
  const key = { organization_id: organization.id, user_id: userId };
  const [row] = await store.findMember(tx, key);
  return { organization, key, row };
}

/** An organization that has an owner keeps one. @throws {AuthError} `conflict` */
async function requireOtherOwner(tx: Executor, key: { organization_id: string; user_id: string }) {
  const [other] = await store.findOtherOwner(tx, key);
  if (other) return;
  throw conflict('The user is the last owner. Make another member an owner first.');
}

/** Who changes an organization. The person concerned reads it in the security log. */
export type ChangedBy = { readonly by: 'operator' } | { readonly by: 'service'; readonly service_id: string };

export interface MembershipChange {
  readonly userId: string;
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string };
  /** Null if the user was not a member before. */
  readonly from: OrganizationRole | null;
  /** Null if the user is no longer a member. */
  readonly to: OrganizationRole | null;
  readonly reason?: 'organization_deleted';
}

/** Records and announces a change of role in its transaction. Locks the account's log: call it last. */
async function recordMembershipChange(
  ctx: Context,
  tx: Executor,
  { userId, organization, from, to, reason }: MembershipChange,
  by: ChangedBy,
): Promise<void> {
  const { id, slug } = organization;
  await recordEvent(ctx, tx, {
    type: 'membership_changed',
    userId,
    detail: {
      organization_id: id,
      organization: slug,
      name: organization.name,
      ...(to === null ? {} : { role: to }),
      ...(from === null ? {} : { former_role: from }),
      ...(reason === undefined ? {} : { reason }),
      ...by,
    },
  });
  await writeFeedEvent(ctx, tx, {
    type: 'membership-changed',
    userId,
    detail: { organization: { id, slug }, role: to },
  });
}
