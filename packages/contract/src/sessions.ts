import { z } from 'zod';
import { at, define, ownList } from './endpoint.ts';
import { examples } from './examples.ts';
import {
  described,
  deviceName,
  flag,
  ipAddress,
  model,
  pageOf,
  pagination,
  shown,
  shownOrNull,
  time,
  userAgent,
} from './fields.ts';
import { authorizationDetails } from './scopes.ts';
import { revokeForm, revokeRequest, revokeScope } from './tokens.ts';

/** `app` is an application that the user signed in to. */
export const loginKinds = ['browser', 'device', 'app'] as const;
export const loginMethods = ['device_code', 'browser_code', 'magic_link', 'email_code', 'passkey'] as const;

/** A run is a session within another session or a key, made by token exchange. */
export const sessionKinds = [...loginKinds, 'run'] as const;

export const sessionId = shown('The id of the session.', examples.sessionId);

export const session = model('Session', "One of the user's sessions.", {
  id: sessionId,
  kind: described(
    z.enum(sessionKinds),
    'Where the user signed in: `app` for an application. `run` is a session within another one.',
    'device',
  ),
  method: described(z.enum([...loginMethods, 'token_exchange']), 'How it was started.', 'device_code'),
  client_name: shownOrNull(
    'The program on a device, as it named itself, unverified. For an application, its name; for a run, the service that acts in it. Otherwise null.',
    'Example CLI',
  ),
  client_id: described(z.string().optional(), 'The client_id of an application.', examples.serviceId),
  device_name: deviceName,
  ip_address: ipAddress,
  user_agent: userAgent,
  created_at: time.meta({ description: 'When the session was started.' }),
  last_used_at: described(time, 'When it was last used, up to 5 minutes late.', '2026-01-16T08:12:45.107Z'),
  current: flag('Whether this is the session that the request was made with.', true),
  scope: shown('What its tokens allow. `*` is everything the user may do.', '*'),
  resource: shownOrNull('The only service that accepts its tokens. Null if any does.', null),
  within: described(
    z.array(z.string()).optional(),
    'For a run, the ids of the sessions and the key that it is within, nearest first. It ends with each of them.',
    [examples.sessionId],
  ),
  authorization_details: described(
    authorizationDetails.nullable().optional(),
    'For a run, what it allows in detail. Null if it is not limited that way.',
    [{ type: 'project_access', projects: ['engine'] }],
  ),
});
export type Session = z.infer<typeof session>;

export const sessionList = pageOf('SessionList', "A page of the user's sessions.", {
  sessions: z.array(session).meta({ description: 'The active sessions, newest first.' }),
});

const revoking = {
  summary: "Revokes all of the user's sessions, or with scope=session only the current one",
  access: 'bearer',
  endsOwnSession: true,
  query: revokeScope,
  body: revokeRequest,
  bodyOptional: true,
  status: 204,
} as const;

export const sessionEndpoints = {
  revoke: define({
    ...revoking,
    ...at('sessions', 'post', '/revoke'),
    title: 'Revoke sessions',
    notes:
      'With a form-encoded body, this is the OAuth revocation endpoint (RFC 7009), which responds with 200.',
    form: revokeForm,
    formStatus: 200,
    errors: {
      invalid_client: 'The client signs its requests, and this one has no valid client_assertion.',
      rate_limited: true,
    },
  }),
  logout: define({
    ...revoking,
    ...at('sessions', 'delete', '/logout'),
    title: 'Sign out',
    notes: 'Equivalent to POST /revoke with a JSON body.',
  }),
  listSessions: define({
    ...ownList,
    ...at('sessions', 'get', '/sessions'),
    title: 'List sessions',
    summary: "Lists the user's active sessions, newest first",
    query: pagination.extend({
      kind: described(
        z.enum(['login', 'run']).optional(),
        'Only `login` (browsers, devices and applications) or only `run`. Default: both.',
        'login',
      ),
    }),
    response: sessionList,
  }),
  revokeSession: define({
    ...at('sessions', 'delete', '/sessions/{id}'),
    title: 'Revoke a session',
    params: { id: sessionId },
    notes: 'If an approved device has not signed in yet, withdraws the approval instead.',
    access: 'bearer',
    endsOwnSession: true,
    status: 204,
    errors: { not_found: 'The user has no active session with this id.' },
  }),
} as const;
