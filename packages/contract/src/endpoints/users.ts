import { auth, define } from '../endpoint.ts';
import { user, userLookup } from '../users.ts';

export const userEndpoints = {
  getUser: define({
    id: 'getUser',
    method: 'get',
    path: `${auth}/users/{user_id}`,
    summary: 'Returns a user',
    access: 'service',
    rights: ['users'],
    status: 200,
    response: user,
    errors: ['not_found'],
  }),
  lookupUser: define({
    id: 'lookupUser',
    method: 'post',
    path: `${auth}/users/lookup`,
    summary: 'Returns the user with an email address',
    access: 'service',
    rights: ['users'],
    body: userLookup,
    status: 200,
    response: user,
    errors: ['invalid_request', 'not_found'],
  }),
} as const;
