import { z } from 'zod';
import { nextCursor, time } from './fields.ts';

export const organizationRoles = ['owner', 'admin', 'member'] as const;

export const organization = z
  .object({
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    role: z.enum(organizationRoles),
    personal: z.boolean(),
    joined_at: time,
  })
  .meta({ id: 'Organization' });
export type Organization = z.infer<typeof organization>;

export const organizationList = z
  .object({ organizations: z.array(organization), next_cursor: nextCursor })
  .meta({ id: 'OrganizationList' });
