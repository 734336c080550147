// The least program that keeps the promises of `POST /magic_link/verify` for an account that exists: it verifies the MAC of the
// token, spends every link of the address and starts the session in one commit, on SQLite together with all requests that have
// arrived, and answers once that is on disk. No sign-up, limits, metrics or other endpoints.

import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import { parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import {
  findLinkWithAccount,
  spendLinksIfFree,
} from '../../packages/server/src/sign-in/magic-links/store.ts';
import { openDatabase } from './database.ts';
import { json, serve } from './server.ts';
import { signIn } from './sign-in.ts';

const keys = parseKeyRing(process.env['LATCHKEY_KEYS'] ?? '');
const db = openDatabase(process.env['DATABASE_URL'] ?? '');

async function tokensOf(id: string, userAgent: string | null): Promise<object | undefined> {
  const now = Date.now();
  const [link] = await findLinkWithAccount(db.read, { id });
  if (!link || link.spent_at !== null || link.expires_at <= now) return undefined;
  const { email_key, user_id: userId } = link;
  const by = { userId, method: 'magic_link', emailKey: email_key, userAgent, account: link } as const;
  return signIn(db, keys, by, (on) => spendLinksIfFree(on, { email_key, now }));
}

serve(async (request) => {
  const { token = '' } = await json(request);
  const handle = readHandle(keys, 'magicLink', token);
  const id = handle?.subject.toString('base64url');
  const tokens = id === undefined ? undefined : await tokensOf(id, request.headers.get('User-Agent'));
  return tokens ? { status: 200, body: tokens } : { status: 400, body: {}, outcome: 'invalid_grant' };
});
