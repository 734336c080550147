// Organizations and members, made as the operator makes them.

import type { Member, OrganizationRole } from '@latchkey/contract/organizations';
import {
  putOrganization,
  setMember,
} from '../../packages/server/src/identity/organizations/organizations.ts';
import type { Context } from '../../packages/server/src/platform/context.ts';

export async function createOrganization(ctx: Context, slug: string, name: string): Promise<string> {
  return (await putOrganization(ctx, slug, name, { create: true, rename: false })).organization.id;
}

export const addMember = (
  ctx: Context,
  slug: string,
  userId: string,
  role: OrganizationRole,
): Promise<Member> => setMember(ctx, slug, userId, role, { by: 'operator' });
