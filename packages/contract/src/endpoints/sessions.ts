import { at, define, ownList } from '../endpoint.ts';
import { sessionId, sessionList } from '../sessions.ts';
import { revokeForm, revokeScope } from '../tokens.ts';

export const sessionEndpoints = {
  revoke: define({
    ...at('sessions', 'post', '/revoke'),
    title: 'Revoke sessions',
    summary: "Revokes all of the user's sessions, or with scope=session only the current one",
    notes:
      'With a form-encoded body, this is the OAuth revocation endpoint (RFC 7009), which responds with 200.',
    access: 'bearer',
    endsOwnSession: true,
    query: revokeScope,
    body: revokeScope,
    bodyOptional: true,
    form: revokeForm,
    status: 204,
    formStatus: 200,
  }),
  logout: define({
    ...at('sessions', 'delete', '/logout'),
    title: 'Sign out',
    summary: "Revokes all of the user's sessions, or with scope=session only the current one",
    notes: 'Equivalent to POST /revoke with a JSON body.',
    access: 'bearer',
    endsOwnSession: true,
    query: revokeScope,
    body: revokeScope,
    bodyOptional: true,
    status: 204,
  }),
  listSessions: define({
    ...ownList,
    ...at('sessions', 'get', '/sessions'),
    title: 'List sessions',
    summary: "Lists the user's active sessions, newest first",
    response: sessionList,
  }),
  revokeSession: define({
    ...at('sessions', 'delete', '/sessions/{id}'),
    title: 'Revoke a session',
    params: { id: sessionId },
    summary: "Revokes one of the user's sessions",
    notes: 'If an approved device has not signed in yet, withdraws the approval instead.',
    access: 'bearer',
    endsOwnSession: true,
    status: 204,
    errors: { not_found: 'The user has no active session with this id.' },
  }),
} as const;
