import type { Member, OrganizationRole } from '@latchkey/contract/organizations';
import { lockAccountRow } from '../../accounts/locks.ts';
import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { AuthError, conflict } from '../../platform/errors.ts';
import { shown } from '../../platform/values/shown.ts';
import { recordEvent } from '../../security-log/events/events.ts';
import { writeFeedEvent } from '../../security-log/feed-events/feed-events.ts';
import * as store from './store.ts';

const noSuchOrganization = (slug: string): AuthError =>
  new AuthError('not_found', `There is no organization with the slug ${slug}.`);

/** @throws {AuthError} `not_found` */
export async function requireOrganization(on: Executor, slug: string) {
  const [organization] = await store.findOrganizationBySlug(on, { slug });
  if (!organization) throw noSuchOrganization(slug);
  return organization;
}

/** @throws {AuthError} `conflict`: a personal organization belongs to its account, and only changes with it */
export function requireShared({ slug, personal }: Pick<Tables['organizations'], 'slug' | 'personal'>): void {
  if (personal === 1) throw conflict(`${slug} is a personal organization.`);
}

type MemberRow = Awaited<ReturnType<typeof store.findMember>>[number];

export const memberOf = (row: MemberRow): Member => shown(row, ['user_id', 'name', 'role', 'joined_at']);

export const noSuchMember = () =>
  new AuthError('not_found', 'The user is not a member of this organization.');

/** @throws {AuthError} `not_found` */
export async function findMember(ctx: Context, slug: string, userId: string): Promise<Member> {
  const organization = await requireOrganization(ctx.db.read, slug);
  const [row] = await store.findMember(ctx.db.read, { organization_id: organization.id, user_id: userId });
  if (!row) throw noSuchMember();
  return memberOf(row);
}

/**
 * Locks an account and then a shared organization, so that changes to its members come one after the other and each sees
 * the ones before.
 */
export async function lockForChange(tx: Executor, slug: string, userId: string) {
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
export async function requireOtherOwner(
  tx: Executor,
  key: { organization_id: string; user_id: string },
): Promise<void> {
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

/**
 * Records that a user joined, left or changed role, in the transaction that changes it. Every such change, except
 * those of a personal organization and of an account that is deleted, is recorded here and announced to services. Locks
 * the log of the account, so call it last.
 */
export async function recordMembershipChange(
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
