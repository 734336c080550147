import { z } from 'zod';
import { at, define, ownList } from './endpoint.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  described,
  flag,
  model,
  pageOf,
  pagination,
  personName,
  shown,
  time,
  userId,
  visibleText,
} from './fields.ts';

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
  personal: flag('Whether this is the organization that every account has for itself.', false),
  joined_at: joinedAt,
});
export type Organization = z.infer<typeof organization>;

export const organizationSlug = new RegExp(`^[a-z0-9](-?[a-z0-9]){0,${fieldLimits.organizationSlug - 1}}$`);

/** What a slug must be, to be read after its name. */
export const organizationSlugRule = `must be 1-${fieldLimits.organizationSlug} lower-case letters and digits, with single hyphens between them`;

export const organizationName = described(
  visibleText(fieldLimits.organizationName),
  'The name of the organization, as people see it.',
  'Analytical Engines',
);

const organizationSlugParameter = shown(
  `The slug of the organization. For a new one it ${organizationSlugRule}.`,
  'analytical-engines',
);

/** An organization as services see it: without a user, there is no role. */
const organizationRecord = model('OrganizationRecord', 'An organization, as services see it.', {
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

const conflict = 'It is a personal organization.';
const notes = 'Fails with conflict for a personal organization.';
const lastOwner = {
  notes: 'Fails with conflict for the last owner, and for a personal organization.',
  conflict: 'The user is the last owner, or it is a personal organization.',
} as const;
const noOrganization = 'There is no organization with this slug.';
const noMember = 'There is no such organization, or the user is not a member of it.';

const ofOrganization = {
  params: { slug: organizationSlugParameter },
  access: 'service',
  rights: ['organizations'],
} as const;
const ofMember = {
  ...ofOrganization,
  params: { slug: organizationSlugParameter, user_id: userId },
} as const;

export const organizationEndpoints = {
  listOrganizations: define({
    ...ownList,
    ...at('organizations', 'get', '/organizations'),
    title: 'List organizations',
    summary: "Lists the user's organizations, oldest membership first",
    scopes: ['organizations'],
    response: pageOf('OrganizationList', "A page of the user's organizations.", {
      organizations: described(z.array(organization), 'The organizations, oldest membership first.'),
    }),
  }),
  putOrganization: define({
    ...ofOrganization,
    ...at('organizations', 'put', '/organizations/{slug}'),
    title: 'Create or rename an organization',
    summary: 'Creates an organization, or renames it if it exists',
    notes: `A new organization has no members. ${notes}`,
    headers: {
      'If-Match': 'With *, only renames: precondition_failed if there is no such organization.',
      'If-None-Match': 'With *, only creates: precondition_failed if the organization exists.',
    },
    body: z.object({ name: organizationName }),
    createdStatus: 201,
    response: organizationRecord,
    errors: {
      conflict,
      precondition_failed:
        'If-Match is set and the organization does not exist, or If-None-Match is set and it does.',
    },
  }),
  deleteOrganization: define({
    ...ofOrganization,
    ...at('organizations', 'delete', '/organizations/{slug}'),
    title: 'Delete an organization',
    summary: 'Deletes an organization; all its members leave it',
    notes,
    status: 204,
    errors: { not_found: noOrganization, conflict },
  }),
  listMembers: define({
    ...ofOrganization,
    ...at('organizations', 'get', '/organizations/{slug}/members'),
    title: 'List members',
    summary: 'Lists the members of an organization, oldest membership first',
    query: pagination,
    response: pageOf('MemberList', 'A page of the members of an organization.', {
      members: z.array(member).meta({ description: 'The members, oldest membership first.' }),
    }),
    errors: { invalid_request: true, not_found: noOrganization },
  }),
  getMember: define({
    ...ofMember,
    ...at('organizations', 'get', '/organizations/{slug}/members/{user_id}'),
    title: 'Get a member',
    rights: ['users', 'organizations'],
    response: member,
    errors: { not_found: noMember },
  }),
  putMember: define({
    ...ofMember,
    ...at('organizations', 'put', '/organizations/{slug}/members/{user_id}'),
    title: 'Add or change a member',
    summary: 'Adds a user to an organization, or changes the role of a member',
    notes: lastOwner.notes,
    body: z.object({ role: organizationRole }),
    response: member,
    errors: { not_found: 'There is no such organization or user.', conflict: lastOwner.conflict },
  }),
  removeMember: define({
    ...ofMember,
    ...at('organizations', 'delete', '/organizations/{slug}/members/{user_id}'),
    title: 'Remove a member',
    notes: lastOwner.notes,
    status: 204,
    errors: { not_found: noMember, conflict: lastOwner.conflict },
  }),
} as const;
