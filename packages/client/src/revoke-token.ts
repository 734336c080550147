import type { Api } from './api.ts';
import { operations } from './operations.ts';

/** Ends what a token or code belongs to. Succeeds for any other string, too. @see RFC 7009 */
export async function revokeToken(api: Api, token: string, timeoutMs?: number): Promise<void> {
  const init = { method: 'POST', body: new URLSearchParams({ token }) };
  await api.send(operations.revoke.path, init, timeoutMs);
}
