import type { Organization } from '@latchkey/contract/organizations';
import type { Context } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/random.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { lockAccountRow } from '../../platform/database/locks.ts';
import { type PageRequest, paginate, parseCursor } from '../../platform/database/pagination.ts';
import { AuthError } from '../../platform/errors.ts';
import * as store from './store.ts';

const slugPattern = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
const maxNameLength = 100;
const maxSlugAttempts = 5;
const slugSuffixBytes = 4;

/** One page of the organizations of a user, oldest membership first. */
export async function listOrganizations(
  ctx: Context,
  userId: string,
  page: PageRequest,
): Promise<{ organizations: Organization[]; next_cursor: string | null }> {
  const after = parseCursor(page.cursor, { time: -1, id: '' });
  const rows = await store.listMemberships(ctx.db.read, {
    user_id: userId,
    after_time: after.time,
    after_id: after.id,
    limit: page.limit + 1,
  });
  const { entries, next_cursor } = paginate(rows, page.limit, (row) => ({ time: row.joined_at, id: row.id }));
  const organizations = entries.map((row) => ({
    id: row.id,
    slug: row.slug,
    name: row.name,
    role: row.role,
    personal: row.personal === 1,
    joined_at: new Date(row.joined_at).toISOString(),
  }));
  return { organizations, next_cursor };
}

/** Creates the organization that every account comes with, owned by the user. */
export async function createPersonalOrganization(
  ctx: Context,
  tx: Executor,
  user: { id: string; name: string },
): Promise<void> {
  const base = slugFrom(user.name);
  for (let attempt = 0; attempt < maxSlugAttempts; attempt++) {
    const slug = `${base}-${ctx.random(slugSuffixBytes).toString('hex')}`;
    const id = await insertOrganization(ctx, tx, { slug, name: user.name, personal: true });
    if (!id) continue;
    await store.upsertMembership(tx, {
      user_id: user.id,
      organization_id: id,
      role: 'owner',
      now: ctx.clock(),
    });
    return;
  }
  throw new Error('found no free slug for a personal organization');
}

/** Turns a name into a slug of up to 40 lower-case ASCII letters, digits and inner hyphens. */
const slugFrom = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '') || 'personal';

async function insertOrganization(
  ctx: Context,
  tx: Executor,
  organization: { slug: string; name: string; personal: boolean },
): Promise<string | undefined> {
  const [row] = await store.insertOrganization(tx, {
    id: newId('org_', ctx.random),
    slug: organization.slug,
    name: organization.name,
    personal: organization.personal ? 1 : 0,
    now: ctx.clock(),
  });
  return row?.id;
}

/**
 * For the operator: creates an organization and returns its id.
 * @throws {AuthError} `invalid_request` for an invalid slug or name, `conflict` if the slug is taken
 */
export async function createOrganization(ctx: Context, slug: string, name: string): Promise<string> {
  if (!slugPattern.test(slug)) {
    throw new AuthError(
      'invalid_request',
      'The slug must be 1-64 characters: lower-case letters, digits and inner hyphens.',
    );
  }
  if (name.trim() === '' || name.length > maxNameLength) {
    throw new AuthError('invalid_request', `The name must be 1-${maxNameLength} characters long.`);
  }
  const id = await ctx.db.transaction((tx) => insertOrganization(ctx, tx, { slug, name, personal: false }));
  if (!id) throw new AuthError('conflict', `The slug ${slug} is taken.`);
  return id;
}

/**
 * For the operator: adds a user to an organization, or changes the role of a member.
 * @throws {AuthError} `not_found` if the organization or the account does not exist; `invalid_request` for a personal
 * organization
 */
export async function addMember(
  ctx: Context,
  slug: string,
  userId: string,
  role: Organization['role'],
): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [organization] = await store.findOrganizationBySlug(tx, { slug });
    if (!organization) throw new AuthError('not_found', `There is no organization with the slug ${slug}.`);
    if (organization.personal === 1) {
      throw new AuthError(
        'invalid_request',
        `${slug} is a personal organization, which can have only one member.`,
      );
    }
    const [account] = await lockAccountRow(tx, { id: userId });
    if (!account) throw new AuthError('not_found', 'There is no account with this address.');
    await store.upsertMembership(tx, {
      user_id: userId,
      organization_id: organization.id,
      role,
      now: ctx.clock(),
    });
  });
}

/**
 * Refuses to delete the only owner of a shared organization. Locks the organizations that the user owns, so that the last
 * two owners cannot both be deleted at once.
 * @throws {AuthError} `conflict`
 */
export async function requireOtherOwners(tx: Executor, userId: string): Promise<void> {
  await store.lockOwnedOrganizations(tx, { user_id: userId });
  const owned = await store.listSolelyOwned(tx, { user_id: userId });
  if (owned.length === 0) return;
  const slugs = owned.map(({ slug }) => slug).join(', ');
  throw new AuthError(
    'conflict',
    `The account is the only owner of ${slugs}. Make another member an owner first.`,
  );
}

/** Deletes the personal organization of a user. The account's deletion takes the other memberships with it. */
export async function deletePersonalOrganization(tx: Executor, userId: string): Promise<void> {
  await store.deletePersonalOrganization(tx, { user_id: userId });
}

/** The memberships of a user and their organizations for the export of personal data. */
export const exportMemberships = (on: Executor, userId: string) =>
  store.exportMemberships(on, { user_id: userId });
