import { at, define, ownList } from '../endpoint.ts';
import { createdKey, keyChallenge, keyId, keyList, newKey, scopeList } from '../keys.ts';
import { refusedTouch } from '../passkeys.ts';

const aboutNewKey = {
  access: 'browser',
  body: newKey,
  errors: {
    invalid_scope: 'No service declares one of the scopes.',
    invalid_target: 'No service declares the resource.',
    invalid_authorization_details: 'It is not an array of objects with a type, or too large.',
  },
} as const;

export const keyEndpoints = {
  challengeKey: define({
    ...aboutNewKey,
    ...at('keys', 'post', '/keys/challenge'),
    title: 'Get the passkey options for a key',
    summary: 'Returns the options to confirm a new key with a passkey',
    notes: 'Creates nothing. The response to the options is good for a key with the same body, once.',
    response: keyChallenge,
  }),
  createKey: define({
    ...aboutNewKey,
    ...at('keys', 'post', '/keys'),
    title: 'Create a key',
    summary: 'Creates a key: a long-lived credential for a program without a user',
    notes:
      'Send the key wherever an access token goes. It allows what its scope says, on the service of its resource if it has one, and never counts as a recent sign-in. It cannot be refreshed. An email announces the end of a key of more than 14 days, 7 days before it. The response is the only time it is shown. If the account has a passkey, it has to confirm the key; otherwise the user must have signed in recently.',
    status: 201,
    response: createdKey,
    errors: {
      ...aboutNewKey.errors,
      invalid_grant: refusedTouch,
      rate_limited: true,
      conflict: 'The account has reached its limit of active keys.',
    },
  }),
  listKeys: define({
    ...ownList,
    ...at('keys', 'get', '/keys'),
    title: 'List keys',
    summary: "Lists the user's active keys without their secrets, newest first",
    response: keyList,
  }),
  removeKey: define({
    ...at('keys', 'delete', '/keys/{id}'),
    title: 'Remove a key',
    params: { id: keyId },
    summary: "Removes one of the user's keys",
    access: 'bearer',
    status: 204,
    errors: { not_found: 'The user has no active key with this id.', rate_limited: true },
  }),
  listScopes: define({
    ...at('keys', 'get', '/scopes'),
    title: 'List scopes and resources',
    summary: 'Lists the scopes and resources that can be asked for',
    access: 'bearer',
    response: scopeList,
  }),
} as const;
