import type { Member } from '@latchkey/contract/organizations';
import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { lockAccountRow } from '../../platform/database/locks.ts';
import { AuthError } from '../../platform/errors.ts';
import { noSuchOrganization, requireShared } from './policy.ts';
import * as store from './store.ts';

type MemberRow = Awaited<ReturnType<typeof store.findMember>>[number];

export const memberOf = ({ user_id, name, role, joined_at }: MemberRow): Member => ({
  user_id,
  name,
  role,
  joined_at: new Date(joined_at).toISOString(),
});

export const noSuchMember = () =>
  new AuthError('not_found', 'The user is not a member of this organization.');

/** @throws {AuthError} `not_found` */
export async function findMember(ctx: Context, slug: string, userId: string): Promise<Member> {
  const [organization] = await store.findOrganizationBySlug(ctx.db.read, { slug });
  if (!organization) throw noSuchOrganization(slug);
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
  throw new AuthError('conflict', 'The user is the last owner. Make another member an owner first.');
}
