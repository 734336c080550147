import { userHeader } from '@latchkey/contract/endpoint';
import { AuthError, invalidRequest } from '../errors.ts';

const userIdPattern = /^usr_[\w-]{22}$/;

/**
 * Requires that the caller is the user in the `Latchkey-User` header, if there is one. An open page shows one user,
 * but its cookie belongs to the last user who signed in with that browser.
 * @throws {AuthError} `invalid_request` for a malformed id; `precondition_failed` for another user's
 */
export function requireExpectedUser(headers: Headers, userId: string): void {
  const expected = headers.get(userHeader);
  if (expected === null || expected === userId) return;
  if (!userIdPattern.test(expected)) throw invalidRequest(`${userHeader}: must be one user id`);
  throw new AuthError(
    'precondition_failed',
    `The credential belongs to another user than the one in ${userHeader}.`,
    {
      detail: 'another_user',
    },
  );
}
