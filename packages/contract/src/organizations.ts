import { z } from 'zod';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import { described, model, pageOf, personName, shown, time, userId, visibleText } from './fields.ts';

export const organizationRoles = ['owner', 'admin', 'member'] as const;
export const organizationRole = described(
  z.enum(organizationRoles),
  'What the member may do in the organization. Services decide what each role allows.',
  'admin',
);
export type OrganizationRole = z.infer<typeof organizationRole>;

const organizationId = shown('The id of the organization. It never changes.', examples.organizationId);
const slug = shown('Its short name in addresses. Unique.', 'analytical-engines');
const shownName = shown('The name of the organization.', 'Analytical Engines');
const joinedAt = time.meta({ description: 'When the user became a member.' });

export const organization = model('Organization', 'An organization, as one of its members sees it.', {
  id: organizationId,
  slug,
  name: shownName,
  role: organizationRole,
  personal: described(
    z.boolean(),
    'Whether this is the organization that every account has for itself.',
    false,
  ),
  joined_at: joinedAt,
});
export type Organization = z.infer<typeof organization>;

export const organizationList = pageOf('OrganizationList', "A page of the user's organizations.", {
  organizations: z.array(organization).meta({ description: 'The organizations, oldest membership first.' }),
});

export const organizationSlug = new RegExp(`^[a-z0-9](-?[a-z0-9]){0,${fieldLimits.organizationSlug - 1}}$`);

/** What a slug must be, to be read after its name. */
export const organizationSlugRule = `must be 1-${fieldLimits.organizationSlug} lower-case letters and digits, with single hyphens between them`;

export const organizationName = described(
  visibleText(fieldLimits.organizationName),
  'The name of the organization, as people see it.',
  'Analytical Engines',
);

export const organizationSlugParameter = shown(
  `The slug of the organization. For a new one it ${organizationSlugRule}.`,
  'analytical-engines',
);

export const organizationWrite = z.object({ name: organizationName });

/** An organization as services see it: without a user, there is no role. */
export const organizationRecord = model('OrganizationRecord', 'An organization, as services see it.', {
  id: organizationId,
  slug,
  name: shownName,
  created_at: time.meta({ description: 'When the organization was created.' }),
});
export type OrganizationRecord = z.infer<typeof organizationRecord>;

export const member = model('Member', 'A member of an organization.', {
  user_id: userId,
  name: personName,
  role: organizationRole,
  joined_at: joinedAt,
});
export type Member = z.infer<typeof member>;

export const memberList = pageOf('MemberList', 'A page of the members of an organization.', {
  members: z.array(member).meta({ description: 'The members, oldest membership first.' }),
});

export const memberWrite = z.object({ role: organizationRole });
