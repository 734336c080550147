// Passkeys of an account of a service in another process.

import { tokenSet } from '@latchkey/contract/tokens';
import { type Authenticator, createAuthenticator } from './authenticator.ts';
import { apiAt, loginByMail } from './http.ts';

/** Registers a passkey of a new authenticator for the account of an access token. */
export async function registerPasskey(
  url: string,
  accessToken: string,
  name?: string,
): Promise<Authenticator> {
  const api = apiAt(url);
  const authenticator = createAuthenticator({ origin: url });
  const made = authenticator.create(await api.call('startPasskeyRegistration', { accessToken }));
  await api.call('registerPasskey', { accessToken, body: name === undefined ? made : { ...made, name } });
  return authenticator;
}

/** Signs in by email and registers a passkey. */
export const addPasskeyAt = async (url: string, email: string): Promise<Authenticator> =>
  registerPasskey(url, (await loginByMail(url, email)).access_token);

/** Signs in by a passkey. */
export async function loginByPasskey(url: string, authenticator: Authenticator) {
  const api = apiAt(url);
  const body = authenticator.get(await api.call('startPasskeyLogin'));
  return tokenSet.parse(await api.call('loginWithPasskey', { body }));
}
