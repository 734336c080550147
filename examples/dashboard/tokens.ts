import { createApi } from '@latchkey/client/api';
import { credentialStore, tokenMembers } from '@latchkey/client/credentials';
import { memoryStorage } from '@latchkey/client/memory-storage';
import { openSession } from '@latchkey/client/session';

const api = createApi({ server: 'http://localhost:8787', credentials: 'omit' });
const store = credentialStore(memoryStorage(), api.server);
export const session = openSession({ api, store });

export const requestCode = async (email: string): Promise<string> =>
  (await api.call('requestMagicLink', { body: { email } })).request;

export async function signIn(request: string, code: string): Promise<void> {
  const tokens = await api.call('verifyMagicLink', { body: { request, code } });
  if (!('access_token' in tokens)) throw new Error('This is the response with a cookie.');
  const { id, email = '' } = await api.call('getProfile', { accessToken: tokens.access_token });
  const logged_in_at = new Date().toISOString();
  await store.put({
    server: api.server,
    user: { id, email },
    logged_in_at,
    ...tokenMembers(tokens, Date.now()),
  });
}
