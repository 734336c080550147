import { at, define } from '../endpoint.ts';
import { userId } from '../fields.ts';
import { user, userLookup } from '../users.ts';

const read = { access: 'service', rights: ['users', 'operate'], response: user } as const;

export const userEndpoints = {
  getUser: define({
    ...read,
    ...at('users', 'get', '/users/{user_id}'),
    title: 'Get a user',
    params: { user_id: userId },
    summary: 'Returns a user',
    errors: { not_found: 'There is no user with this id.' },
  }),
  lookupUser: define({
    ...read,
    ...at('users', 'post', '/users/lookup'),
    title: 'Find a user by email',
    summary: 'Returns the user with an email address',
    body: userLookup,
    errors: { not_found: 'There is no user with this address.' },
  }),
} as const;
