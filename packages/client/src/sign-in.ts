import type { TokenSet } from '@latchkey/contract/tokens';
import type { Api } from './api.ts';
import { type CredentialStore, type StoredSession, tokenMembers } from './credentials.ts';
import { type DeviceLogin, type DeviceLoginOptions, startDeviceLogin } from './device-login.ts';
import { revokeToken } from './revoke-token.ts';
import { userOf } from './user.ts';

export interface SignInOptions extends DeviceLoginOptions {
  readonly api: Api;
  /** Where the login is kept. A former login of the same person there ends. */
  readonly store: CredentialStore;
  /** Shows the person the link and the code. */
  readonly onStart: (login: DeviceLogin) => void | Promise<void>;
}

/**
 * Signs a person in by device flow and stores the login, for `openSession`. If anything fails, or `signal` is aborted, nothing is left behind:
 * the code can no longer be approved, and a session that has already started ends.
 * @throws {LatchkeyError} `access_denied`, `expired_token`, `account_disabled`, `aborted`, `store_failed`
 * @example
 * const { user } = await signIn({
 *   api,
 *   store,
 *   clientName: 'Projects',
 *   onStart: ({ verificationUriComplete, userCode }) => console.error(verificationUriComplete, userCode),
 * });
 */
export async function signIn({ api, store, onStart, ...options }: SignInOptions): Promise<StoredSession> {
  const login = await startDeviceLogin(api, options);
  try {
    await onStart(login);
    const tokens = await login.tokens(options);
    return await storeSession(api, store, tokens);
  } catch (error) {
    await login.cancel().catch(() => {});
    throw error;
  }
}

async function storeSession(api: Api, store: CredentialStore, tokens: TokenSet): Promise<StoredSession> {
  const received = tokenMembers(tokens, Date.now(), api.serverTime());
  const user = await userOf(api, tokens.access_token);
  const session = { server: api.server, user, logged_in_at: new Date().toISOString(), ...received };
  const { replaced } = await store.put(session);
  // The new login is stored, so a failure here is no failure of the sign-in.
  if (replaced && replaced.kind !== 'key') await revokeToken(api, replaced.refresh_token).catch(() => {});
  return session;
}
