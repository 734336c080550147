import { z } from 'zod';
import { at, define } from './endpoint.ts';
import { eventList } from './events.ts';
import { examples } from './examples.ts';
import { fieldLimits } from './field-limits.ts';
import {
  addressShown,
  described,
  emailAddress,
  emailVerified,
  emptyObject,
  flag,
  model,
  pageOf,
  pagination,
  personName,
  pictureUrl,
  shown,
  text,
  time,
  userId,
} from './fields.ts';
import { key } from './keys.ts';
import { organization } from './organizations.ts';
import { passkey } from './passkeys.ts';
import { session, sessionId } from './sessions.ts';

export const user = model('User', 'A user, as services see them.', {
  id: userId,
  email: addressShown,
  email_verified: emailVerified,
  name: personName,
  avatar_url: pictureUrl,
  disabled: flag('A disabled user has no sessions and cannot sign in.', false),
  created_at: time.meta({ description: 'When the account was created.' }),
});
export type User = z.infer<typeof user>;

const userLookup = z.object({ email: emailAddress });

/** There is no current session for a service. */
const userSession = session
  .omit({ current: true })
  .meta({ id: 'UserSession', description: 'A session of a user, as operators see it.' });
export type UserSession = z.infer<typeof userSession>;

const userEmail = model('UserEmail', 'An email to a user, without its content.', {
  id: shown('The id of the email.', examples.mailId),
  kind: shown(
    '`sign_in`, `notice` (a security notice), `notice_digest` (several of them), `key_ends` (a key is about to expire), `email_change`, `email_restored`, `disowned` or `account_deleted`.',
    'sign_in',
  ),
  to: described(addressShown, 'The address it was sent to.', examples.email),
  created_at: time.meta({ description: 'When it was requested.' }),
  sent_at: time.nullable().meta({ description: 'When the mail server accepted it. Null if it did not.' }),
  outcome: described(
    z.enum(['sent', 'waiting', 'failed']),
    '`waiting`: it will be sent or tried again. `failed`: the mail server refused it, or it expired first.',
    'sent',
  ),
});
export type UserEmail = z.infer<typeof userEmail>;

const addressReport = model('AddressReport', 'Why an address can or cannot sign in. At most 100 of each.', {
  user: user.nullable().meta({ description: 'The user with this address. Null without an account.' }),
  sign_up_allowed: flag('Whether the settings allow an account to be created with this address.', true),
  passkeys: z.array(passkey).meta({ description: 'The passkeys of the user, newest first.' }),
  keys: z.array(key).meta({ description: 'The active keys of the user, newest first.' }),
  organizations: described(z.array(organization), 'The organizations, the first one joined first.'),
  emails: described(z.array(userEmail), 'The emails to this address, and to the user, newest first.'),
});
export type AddressReport = z.infer<typeof addressReport>;

const read = { access: 'service', rights: ['users', 'operate'], response: user } as const;

export const userEndpoints = {
  getUser: define({
    ...read,
    ...at('users', 'get', '/users/{user_id}'),
    title: 'Get a user',
    params: { user_id: userId },
    errors: { not_found: 'There is no user with this id.' },
  }),
  lookupUser: define({
    ...read,
    ...at('users', 'post', '/users/lookup'),
    title: 'Find a user by email',
    body: userLookup,
    errors: { not_found: 'There is no user with this address.' },
  }),
} as const;

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
    query: pagination.extend({
      search: described(
        text(fieldLimits.search).optional(),
        'Only users with this text in their email address or name. Case does not matter.',
        'lovelace',
      ),
    }),
    response: pageOf('UserList', 'A page of users.', {
      users: z.array(user).meta({ description: 'The users, by email address.' }),
    }),
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
    response: pageOf('UserSessionList', 'A page of sessions of a user.', {
      sessions: z.array(userSession).meta({ description: 'The active sessions, newest first.' }),
    }),
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
    response: pageOf('UserEmailList', 'A page of emails to a user.', {
      emails: z.array(userEmail).meta({ description: 'The emails, newest first.' }),
    }),
  }),
} as const;
