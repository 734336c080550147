import type { AuthenticationResponse, RequestOptions } from '@latchkey/contract/passkeys';
import { useCredential } from './ceremony.ts';

/**
 * Asks the browser for a passkey that confirms what the options were issued for: a device, an application or a key. Send the response
 * with the request that does it, as `passkey`.
 * @throws {LatchkeyError} a `PasskeyErrorCode`
 * @example
 * const { passkey: options } = await api.call('verifyDevice', { body: { user_code } });
 * const passkey = options && (await touchPasskey(options));
 * await api.call('approveDevice', { body: { user_code, passkey } });
 */
export const touchPasskey = (options: RequestOptions): Promise<AuthenticationResponse> =>
  useCredential(options);
