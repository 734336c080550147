import { auth, define } from '../endpoint.ts';
import { userId } from '../fields.ts';
import { user, userLookup } from '../users.ts';

export const userEndpoints = {
  getUser: define({
    id: 'getUser',
    title: 'Get a user',
    group: 'users',
    method: 'get',
    path: `${auth}/users/{user_id}`,
    params: { user_id: userId },
    summary: 'Returns a user',
    access: 'service',
    rights: ['users', 'operate'],
    status: 200,
    response: user,
    errors: ['not_found'],
    errorMeanings: {
      not_found: 'There is no user with this id.',
    },
  }),
  lookupUser: define({
    id: 'lookupUser',
    title: 'Find a user by email',
    group: 'users',
    method: 'post',
    path: `${auth}/users/lookup`,
    summary: 'Returns the user with an email address',
    access: 'service',
    rights: ['users', 'operate'],
    body: userLookup,
    status: 200,
    response: user,
    errors: ['invalid_request', 'not_found'],
    errorMeanings: {
      not_found: 'There is no user with this address.',
    },
  }),
} as const;
