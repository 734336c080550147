import { at, define, ownList } from '../endpoint.ts';
import { pagination, userId } from '../fields.ts';
import {
  member,
  memberList,
  memberWrite,
  organizationList,
  organizationRecord,
  organizationSlugParameter,
  organizationWrite,
} from '../organizations.ts';

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
    response: organizationList,
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
    body: organizationWrite,
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
    response: memberList,
    errors: { invalid_request: true, not_found: noOrganization },
  }),
  getMember: define({
    ...ofMember,
    ...at('organizations', 'get', '/organizations/{slug}/members/{user_id}'),
    title: 'Get a member',
    summary: 'Returns a member of an organization',
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
    body: memberWrite,
    response: member,
    errors: { not_found: 'There is no such organization or user.', conflict: lastOwner.conflict },
  }),
  removeMember: define({
    ...ofMember,
    ...at('organizations', 'delete', '/organizations/{slug}/members/{user_id}'),
    title: 'Remove a member',
    summary: 'Removes a member from an organization',
    notes: lastOwner.notes,
    status: 204,
    errors: { not_found: noMember, conflict: lastOwner.conflict },
  }),
} as const;
