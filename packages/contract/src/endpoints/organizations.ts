import { auth, define, ownList } from '../endpoint.ts';
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
  group: 'organizations',
  path: `${auth}/organizations/{slug}`,
  params: { slug: organizationSlugParameter },
  access: 'service',
  rights: ['organizations'],
} as const;
const ofMember = {
  ...ofOrganization,
  path: `${auth}/organizations/{slug}/members/{user_id}`,
  params: { slug: organizationSlugParameter, user_id: userId },
} as const;

export const organizationEndpoints = {
  listOrganizations: define({
    ...ownList,
    title: 'List organizations',
    group: 'organizations',
    path: `${auth}/organizations`,
    summary: "Lists the user's organizations, oldest membership first",
    scopes: ['organizations'],
    response: organizationList,
  }),
  putOrganization: define({
    ...ofOrganization,
    title: 'Create or rename an organization',
    method: 'put',
    summary: 'Creates an organization, or renames it if it exists',
    notes: `A new organization has no members. ${notes}`,
    headers: {
      'If-Match': 'With *, only renames: precondition_failed if there is no such organization.',
      'If-None-Match': 'With *, only creates: precondition_failed if the organization exists.',
    },
    body: organizationWrite,
    createdStatus: 201,
    response: organizationRecord,
    errors: ['invalid_request', 'conflict', 'precondition_failed'],
    errorMeanings: {
      conflict,
      precondition_failed:
        'If-Match is set and the organization does not exist, or If-None-Match is set and it does.',
    },
  }),
  deleteOrganization: define({
    ...ofOrganization,
    title: 'Delete an organization',
    method: 'delete',
    summary: 'Deletes an organization; all its members leave it',
    notes,
    status: 204,
    errors: ['not_found', 'conflict'],
    errorMeanings: { conflict, not_found: noOrganization },
  }),
  listMembers: define({
    ...ofOrganization,
    title: 'List members',
    method: 'get',
    path: `${auth}/organizations/{slug}/members`,
    summary: 'Lists the members of an organization, oldest membership first',
    query: pagination,
    response: memberList,
    errors: ['invalid_request', 'not_found'],
    errorMeanings: { not_found: noOrganization },
  }),
  getMember: define({
    ...ofMember,
    title: 'Get a member',
    method: 'get',
    summary: 'Returns a member of an organization',
    rights: ['users', 'organizations'],
    response: member,
    errors: ['not_found'],
    errorMeanings: { not_found: noMember },
  }),
  putMember: define({
    ...ofMember,
    title: 'Add or change a member',
    method: 'put',
    summary: 'Adds a user to an organization, or changes the role of a member',
    notes: lastOwner.notes,
    body: memberWrite,
    response: member,
    errors: ['invalid_request', 'not_found', 'conflict'],
    errorMeanings: { conflict: lastOwner.conflict, not_found: 'There is no such organization or user.' },
  }),
  removeMember: define({
    ...ofMember,
    title: 'Remove a member',
    method: 'delete',
    summary: 'Removes a member from an organization',
    notes: lastOwner.notes,
    status: 204,
    errors: ['not_found', 'conflict'],
    errorMeanings: { conflict: lastOwner.conflict, not_found: noMember },
  }),
} as const;
