import { auth, define } from '../endpoint.ts';
import { pagination } from '../fields.ts';
import { sessionId, sessionList } from '../sessions.ts';
import { revokeForm, revokeScope } from '../tokens.ts';

export const sessionEndpoints = {
  revoke: define({
    title: 'Revoke sessions',
    group: 'sessions',
    method: 'post',
    path: `${auth}/revoke`,
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
    errors: ['invalid_request'],
  }),
  logout: define({
    title: 'Sign out',
    group: 'sessions',
    method: 'delete',
    path: `${auth}/logout`,
    summary: "Revokes all of the user's sessions, or with scope=session only the current one",
    notes: 'Equivalent to POST /revoke with a JSON body.',
    access: 'bearer',
    endsOwnSession: true,
    query: revokeScope,
    body: revokeScope,
    bodyOptional: true,
    status: 204,
    errors: ['invalid_request'],
  }),
  listSessions: define({
    title: 'List sessions',
    group: 'sessions',
    method: 'get',
    path: `${auth}/sessions`,
    summary: "Lists the user's active sessions, newest first",
    access: 'bearer',
    query: pagination,
    status: 200,
    response: sessionList,
    errors: ['invalid_request'],
  }),
  revokeSession: define({
    title: 'Revoke a session',
    group: 'sessions',
    method: 'delete',
    path: `${auth}/sessions/{id}`,
    params: { id: sessionId },
    summary: "Revokes one of the user's sessions",
    notes: 'If an approved device has not signed in yet, withdraws the approval instead.',
    access: 'bearer',
    endsOwnSession: true,
    status: 204,
    errors: ['not_found'],
    errorMeanings: {
      not_found: 'The user has no active session with this id.',
    },
  }),
} as const;
