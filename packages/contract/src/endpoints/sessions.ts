import { at, define, ownList } from '../endpoint.ts';
import { sessionId, sessionList } from '../sessions.ts';
import { revokeForm, revokeRequest, revokeScope } from '../tokens.ts';

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
