// Passkeys of an account of a service in another process.

import { tokenSet } from '@latchkey/contract/tokens';
import { type Authenticator, createAuthenticator } from './authenticator.ts';
import { apiAt, loginByMail } from './http.ts';

/** Signs in by email and registers a passkey. */
export async function addPasskeyAt(url: string, email: string): Promise<Authenticator> {
  const { access_token: accessToken } = await loginByMail(url, email);
  const api = apiAt(url);
  const authenticator = createAuthenticator({ origin: url });
  const options = await api.call('startPasskeyRegistration', { accessToken });
  await api.call('registerPasskey', { accessToken, body: authenticator.create(options) });
  return authenticator;
}

/** Signs in by a passkey. */
export async function loginByPasskey(url: string, authenticator: Authenticator) {
  const api = apiAt(url);
  const body = authenticator.get(await api.call('startPasskeyLogin'));
  return tokenSet.parse(await api.call('loginWithPasskey', { body }));
}
