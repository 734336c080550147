import { lockAccountRows } from '../../accounts/locks.ts';
import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { Raced } from '../../platform/database/races.ts';
import { type ChangedBy, recordMembershipChange } from './members.ts';
import * as store from './store.ts';

/** How many members leave in one transaction, which keeps their accounts locked. */
const batchSize = 100;

/**
 * Removes the next members, and with the last of them the organization. Accounts are locked before the organization, as
 * in every transaction that locks both. So a user may join until the organization is locked; then the batch starts over.
 * @throws {Raced} when members joined meanwhile
 */
export async function deleteBatch(
  ctx: Context,
  tx: Executor,
  id: string,
  by: ChangedBy,
): Promise<'done' | 'more'> {
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

/** The members of the next batch, which are all that are left if it is the last. Owners leave after all others. */
async function nextMembers(
  tx: Executor,
  id: string,
): Promise<{ readonly userIds: readonly string[]; readonly isLast: boolean }> {
  const oneMore = { organization_id: id, limit: batchSize + 1 };
  const others = await store.listSomeMembers(tx, { ...oneMore, owners: 0 });
  const members =
    others.length > batchSize ? others : await store.listSomeMembers(tx, { ...oneMore, owners: 1 });
  const isLast = members.length <= batchSize;
  const batch = isLast || others.length === 0 ? members : others;
  return { userIds: batch.slice(0, batchSize).map(({ user_id }) => user_id), isLast };
}
