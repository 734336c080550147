import type { AuthenticationResponse } from '@latchkey/contract/passkeys';
import type { Api } from '../api.ts';
import { hasCode } from '../errors.ts';
import type { Answer, Query } from '../operations.ts';
import { useCredential } from './ceremony.ts';
import { signalUnknown } from './signal.ts';

/** A passkey's answer to a challenge, and for whom. Good once. */
export interface Assertion {
  readonly rpId: string;
  readonly response: AuthenticationResponse;
}

/**
 * Asks for a passkey in the browser's own dialogue.
 * @throws {LatchkeyError} a `PasskeyErrorCode`, or why the service gave no challenge
 */
export async function askForPasskey(api: Api): Promise<Assertion> {
  const options = await api.call('startPasskeyLogin');
  return { rpId: options.rpId, response: await useCredential(options) };
}

/**
 * Signs in: with `{ session: 'cookie' }` by a cookie that no script can read, else with tokens in the answer. A
 * passkey that the service says it does not know is reported to where it is kept.
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
