import type { AuthenticationResponse } from '@latchkey/contract/passkeys';
import type { Api } from '../api.ts';
import { hasCode } from '../errors.ts';
import type { Answer, Query } from '../operations.ts';
import { useCredential } from './ceremony.ts';
import { signalUnknown } from './signal.ts';

/** A passkey's response to a challenge, with the relying party it is for. Single use. */
export interface Assertion {
  readonly rpId: string;
  readonly response: AuthenticationResponse;
}

/**
 * Asks for a passkey in the browser's dialog.
 * @throws {LatchkeyError} a `PasskeyErrorCode`, or the error of requesting a challenge
 * @example
 * const assertion = await askForPasskey(api);
 */
export async function askForPasskey(api: Api): Promise<Assertion> {
  const options = await api.call('startPasskeyLogin');
  return { rpId: options.rpId, response: await useCredential(options) };
}

/**
 * Signs in, with tokens in the response or, with `{ session: 'cookie' }`, with an HttpOnly cookie. If the service
 * does not know the passkey, its password manager is asked to delete it.
 * @example
 * await redeemPasskey(api, assertion, { session: 'cookie' });
 */
export async function redeemPasskey(
  api: Api,
  { rpId, response }: Assertion,
  query: Query<'loginWithPasskey'> = {},
): Promise<Answer<'loginWithPasskey'>> {
  try {
    return await api.call('loginWithPasskey', { query, body: response });
  } catch (error) {
    if (hasCode(error, 'unknown_credential')) await signalUnknown(rpId, response.id);
    throw error;
  }
}
