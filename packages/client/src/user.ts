import type { Api } from './api.ts';
import { hasCode, LatchkeyError } from './errors.ts';

/** The limits of the service. What is longer would leave no room for other logins. */
const maxIdLength = 64;
const maxAddressLength = 254;

/**
 * Whose token this is, as it is stored. Members are '' if the token may not see them.
 * @throws {LatchkeyError} `not_latchkey` for a response that no service sends; any other error of the request
 * @internal
 */
export async function userOf(api: Api, accessToken: string, signal?: AbortSignal) {
  try {
    const profile = await api.call('getProfile', { accessToken, signal });
    const { id, email = '' } = Object(profile) as { readonly id?: unknown; readonly email?: unknown };
    if (isName(id, maxIdLength) && id !== '' && isName(email, maxAddressLength)) return { id, email };
    throw new LatchkeyError('not_latchkey', 'The response contains no profile.');
  } catch (error) {
    // The service refuses a token that is not valid before it looks at what that allows.
    if (hasCode(error, 'insufficient_scope')) return { id: '', email: '' };
    throw error;
  }
}

/** Without control, format and line characters. */
const isName = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value.length <= maxLength && !/[\p{C}\p{Zl}\p{Zp}]/u.test(value);
