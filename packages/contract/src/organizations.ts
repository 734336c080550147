import { z } from 'zod';
import { fieldLimits } from './field-limits.ts';
import { nextCursor, time, visibleText } from './fields.ts';

export const organizationRoles = ['owner', 'admin', 'member'] as const;
export const organizationRole = z.enum(organizationRoles);
export type OrganizationRole = z.infer<typeof organizationRole>;

export const organization = z
  .object({
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    role: organizationRole,
    personal: z.boolean(),
    joined_at: time,
  })
  .meta({ id: 'Organization' });
export type Organization = z.infer<typeof organization>;

export const organizationList = z
  .object({ organizations: z.array(organization), next_cursor: nextCursor })
  .meta({ id: 'OrganizationList' });

/** The slug of a new organization. Organizations of earlier releases may have other slugs. */
export const organizationSlug = new RegExp(`^[a-z0-9](-?[a-z0-9]){0,${fieldLimits.organizationSlug - 1}}$`);

/** What a slug must be, to be read after its name. */
export const organizationSlugRule = `must be 1-${fieldLimits.organizationSlug} lower-case letters and digits, with single hyphens between them`;

export const organizationName = visibleText(fieldLimits.organizationName);

export const organizationWrite = z.object({ name: organizationName });

/** An organization as services see it: without a user, there is no role. */
export const organizationRecord = z
  .object({ id: z.string(), slug: z.string(), name: z.string(), created_at: time })
  .meta({ id: 'OrganizationRecord' });
export type OrganizationRecord = z.infer<typeof organizationRecord>;

export const member = z
  .object({ user_id: z.string(), name: z.string(), role: organizationRole, joined_at: time })
  .meta({ id: 'Member' });
export type Member = z.infer<typeof member>;

export const memberList = z
  .object({ members: z.array(member), next_cursor: nextCursor })
  .meta({ id: 'MemberList' });

export const memberWrite = z.object({ role: organizationRole });
