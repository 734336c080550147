// The least program that keeps the promises of `POST /magic_link/verify` for an account that exists: it verifies the MAC of the
// token, spends every link of the address and starts the session in one commit, on SQLite together with all requests that have
// arrived, and answers once that is on disk. No sign-up, limits, metrics or other endpoints.

import { lockUserByAddress } from '../../packages/server/src/identity/account/store.ts';
import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { findMagicLink, spendLinksFor } from '../../packages/server/src/sign-in/magic-links/store.ts';
import { db, json, keys, serve } from './server.ts';
import { signIn } from './sign-in.ts';

async function tokensOf(id: string, userAgent: string | null) {
  const now = Date.now();
  const [link] = await findMagicLink(db.read, { id });
  if (!link || link.spent_at !== null || link.expires_at <= now) return undefined;
  const { email_key } = link;
  return db.transaction(async (tx) => {
    const [spent, [user]] = await Promise.all([
      spendLinksFor(tx, { email_key, now }),
      lockUserByAddress(tx, { email_key }),
    ]);
    if (!user || !spent.some((one) => one.id === id)) return undefined;
    return signIn(tx, { userId: user.id, method: 'magic_link', emailKey: email_key, userAgent });
  });
}

serve(async (request) => {
  const { token = '' } = await json(request);
  const handle = readHandle(keys, 'magicLink', token);
  const id = handle?.subject.toString('base64url');
  const tokens = id === undefined ? undefined : await tokensOf(id, request.headers.get('User-Agent'));
  return tokens ? { status: 200, body: tokens } : { status: 400, body: {}, outcome: 'invalid_grant' };
});
