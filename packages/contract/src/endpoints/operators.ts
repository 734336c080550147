import { at, define } from '../endpoint.ts';
import { eventList } from '../events.ts';
import { emptyObject, pagination, userId } from '../fields.ts';
import { sessionId } from '../sessions.ts';
import { addressReport, userEmailList, userList, userLookup, userSearch, userSessionList } from '../users.ts';

const operator = { access: 'service', rights: ['operate'] } as const;
const ofUser = {
  ...operator,
  params: { user_id: userId },
  errors: { not_found: 'There is no user with this id.' },
} as const;
const list = { ...ofUser, query: pagination, errors: { invalid_request: true, ...ofUser.errors } } as const;
const act = { ...ofUser, body: emptyObject, bodyOptional: true, status: 204 } as const;
const recorded = 'It is recorded in the security log of the user, with the id of the service in by.';

export const operatorEndpoints = {
  listUsers: define({
    ...operator,
    ...at('operators', 'get', '/users'),
    title: 'List users',
    summary: 'Lists the users, by email address',
    notes:
      'A search examines at most 100,000 users per request, so a page may be short or empty and still have a next_cursor. A user with a known address is found faster with lookup.',
    query: userSearch,
    response: userList,
    errors: { invalid_request: true },
  }),
  reportOnAddress: define({
    ...operator,
    ...at('operators', 'post', '/users/report'),
    title: 'Report on an email address',
    summary: 'Returns what explains why somebody with an email address can or cannot sign in',
    notes:
      'Works for an address without an account, too: the report then has the emails to it, and whether it may sign up.',
    body: userLookup,
    response: addressReport,
    errors: { invalid_request: true },
  }),
  disableUser: define({
    ...act,
    ...at('operators', 'post', '/users/{user_id}/disable'),
    title: 'Disable a user',
    summary: 'Disables a user and ends all their sessions and keys',
    notes: `The user cannot sign in until they are enabled again. Succeeds if the user is already disabled. ${recorded}`,
  }),
  enableUser: define({
    ...act,
    ...at('operators', 'post', '/users/{user_id}/enable'),
    title: 'Enable a user',
    summary: 'Enables a disabled user, who can sign in again',
    notes: `Succeeds if the user is not disabled. Ended sessions stay ended. ${recorded}`,
  }),
  listUserSessions: define({
    ...list,
    ...at('operators', 'get', '/users/{user_id}/sessions'),
    title: 'List the sessions of a user',
    summary: 'Lists the active sessions of a user, newest first',
    response: userSessionList,
  }),
  revokeUserSessions: define({
    ...ofUser,
    ...at('operators', 'delete', '/users/{user_id}/sessions'),
    title: 'End all sessions of a user',
    summary: 'Ends all sessions and keys of a user',
    notes: `Approvals of devices that are not signed in yet are withdrawn. ${recorded}`,
    status: 204,
  }),
  revokeUserSession: define({
    ...operator,
    ...at('operators', 'delete', '/users/{user_id}/sessions/{session_id}'),
    title: 'End a session of a user',
    params: { user_id: userId, session_id: sessionId },
    summary: 'Ends one session of a user',
    notes: recorded,
    status: 204,
    errors: { not_found: 'There is no such user, or the user has no such active session.' },
  }),
  listUserEvents: define({
    ...list,
    ...at('operators', 'get', '/users/{user_id}/events'),
    title: 'List the security log of a user',
    summary: 'Lists the security log of a user, newest first',
    response: eventList,
  }),
  listUserEmails: define({
    ...list,
    ...at('operators', 'get', '/users/{user_id}/emails'),
    title: 'List the emails to a user',
    summary: 'Lists what was emailed to a user, newest first, without content',
    notes: 'Emails are kept for a week, those that were not sent for a month.',
    response: userEmailList,
  }),
} as const;
