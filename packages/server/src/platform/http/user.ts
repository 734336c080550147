import { userHeader } from '@latchkey/contract/endpoints';
import { AuthError } from '../errors.ts';

const userId = /^usr_[\w-]{22}$/;

/**
 * Holds a request to the user whom its `Latchkey-User` header names. A page shows one person for as long as it is
 * open, while its cookie is of whoever signed in last.
 * @throws {AuthError} `invalid_request` for what is not one user's id; `precondition_failed` for another user's
 */
export function requireExpectedUser(headers: Headers, signedIn: string): void {
  const meant = headers.get(userHeader);
  if (meant === null || meant === signedIn) return;
  if (!userId.test(meant))
    throw new AuthError('invalid_request', `${userHeader}: must be the id of one user`);
  throw new AuthError('precondition_failed', `The credential is not of the user that ${userHeader} names.`, {
    detail: 'another_user',
  });
}
