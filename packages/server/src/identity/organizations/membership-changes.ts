import type { OrganizationRole } from '@latchkey/contract/organizations';
import type { Context } from '../../platform/context.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { recordEvent } from '../../security-log/events/events.ts';
import { writeFeedEvent } from '../../security-log/feed/feed.ts';

/** Who changes an organization. The person concerned reads it in the security log. */
export type ChangedBy = { readonly by: 'operator' } | { readonly by: 'service'; readonly service_id: string };

export interface MembershipChange {
  readonly userId: string;
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string };
  /** Null if the user was not a member before. */
  readonly from: OrganizationRole | null;
  /** Null if the user is not a member any more. */
  readonly to: OrganizationRole | null;
  readonly reason?: 'organization_deleted';
}

/**
 * Records that somebody joined, left or has another role, in the transaction that changes it. Every such change, except
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
