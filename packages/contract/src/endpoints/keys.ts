import { auth, define, ownList } from '../endpoint.ts';
import { createdKey, keyId, keyList, newKey, scopeList } from '../keys.ts';

export const keyEndpoints = {
  createKey: define({
    title: 'Create a key',
    group: 'keys',
    method: 'post',
    path: `${auth}/keys`,
    summary: 'Creates a key: a long-lived credential for a program without a user',
    notes:
      'Send the key wherever an access token goes. It allows what its scope says, on the service of its resource if it has one, and never counts as a recent sign-in. It cannot be refreshed. The response is the only time it is shown.',
    access: 'recent',
    body: newKey,
    status: 201,
    response: createdKey,
    errors: [
      'invalid_request',
      'invalid_scope',
      'invalid_target',
      'invalid_authorization_details',
      'conflict',
      'rate_limited',
    ],
    errorMeanings: {
      conflict: 'The account has reached its limit of active keys.',
      invalid_scope: 'No service declares one of the scopes.',
      invalid_target: 'No service declares the resource.',
      invalid_authorization_details: 'It is not an array of objects with a type, or too large.',
    },
  }),
  listKeys: define({
    ...ownList,
    title: 'List keys',
    group: 'keys',
    path: `${auth}/keys`,
    summary: "Lists the user's active keys without their secrets, newest first",
    response: keyList,
  }),
  removeKey: define({
    title: 'Remove a key',
    group: 'keys',
    method: 'delete',
    path: `${auth}/keys/{id}`,
    params: { id: keyId },
    summary: "Removes one of the user's keys",
    access: 'bearer',
    status: 204,
    errors: ['not_found', 'rate_limited'],
    errorMeanings: { not_found: 'The user has no active key with this id.' },
  }),
  listScopes: define({
    title: 'List scopes and resources',
    group: 'keys',
    method: 'get',
    path: `${auth}/scopes`,
    summary: 'Lists the scopes and resources that can be asked for',
    access: 'bearer',
    response: scopeList,
    errors: [],
  }),
} as const;
