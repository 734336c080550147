import { auth, define } from '../endpoint.ts';
import { userId } from '../fields.ts';
import { user, userLookup } from '../users.ts';

const read = {
  group: 'users',
  access: 'service',
  rights: ['users', 'operate'],
  response: user,
} as const;

export const userEndpoints = {
  getUser: define({
    ...read,
    title: 'Get a user',
    method: 'get',
    path: `${auth}/users/{user_id}`,
    params: { user_id: userId },
    summary: 'Returns a user',
    errors: ['not_found'],
    errorMeanings: { not_found: 'There is no user with this id.' },
  }),
  lookupUser: define({
    ...read,
    title: 'Find a user by email',
    method: 'post',
    path: `${auth}/users/lookup`,
    summary: 'Returns the user with an email address',
    body: userLookup,
    errors: ['invalid_request', 'not_found'],
    errorMeanings: { not_found: 'There is no user with this address.' },
  }),
} as const;
