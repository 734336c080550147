// What every sign-in in a browser must write: the session, once its place has been compared with those of earlier ones, and a
// sealed event in the security log of its account. Reads without locks, then writes in one commit if the log has not changed. No
// notices, cookies, sessions that it replaces or second attempts.

import { mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import type { KeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { newId, systemRandom } from '../../packages/server/src/platform/crypto/random.ts';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';
import { macBeforeNext, sealChain, sealEvent } from '../../packages/server/src/security-log/events/chain.ts';
import { insertEvent, updateChain } from '../../packages/server/src/security-log/events/store.ts';
import { type AccountAtOnce, readAccountState } from '../../packages/server/src/sessions/starting.ts';
import { insertSession } from '../../packages/server/src/sessions/store.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import type { FloorDatabase } from './database.ts';

const dayMs = 24 * 3600 * 1000;
const accessTokenSeconds = 4 * 3600;

export interface SignIn {
  readonly userId: string;
  readonly method: 'magic_link' | 'passkey';
  readonly emailKey?: string;
  readonly passkeyId?: string;
  readonly userAgent: string | null;
  readonly account: AccountAtOnce;
}

/** Starts the session in the commit that spends its proof, and returns its tokens. Undefined unless its proof holds. */
export async function signIn(
  db: FloorDatabase,
  keys: KeyRing,
  { userId, account: { account_state, origins = '[]' }, ...proof }: SignIn,
  spend: (on: Executor) => Promise<unknown>,
): Promise<object | undefined> {
  const now = Date.now();
  const client = { ip_address: '127.0.0.1', user_agent: proof.userAgent };
  const secret = systemRandom(subjectBytes);
  const id = sessionIdOf(secret);
  if (account_state === null) return undefined;
  const log = readAccountState(account_state);
  JSON.parse(origins);
  const event = {
    ...{ id: newId('evt_', systemRandom), user_id: userId, type: 'login', session_id: id, ...client },
    ...{ detail: JSON.stringify({ method: proof.method, kind: 'browser' }), created_at: now },
    ...{ seq: log.head_seq + 1, once: null },
  };
  const mac = sealEvent(keys, event, macBeforeNext(keys, log));
  const next = { ...log, head_seq: event.seq, head_mac: mac, head_at: now, oldest_at: log.oldest_at ?? now };
  const isDone = await db.batch(async (on) => {
    await spend(on);
    await insertSession(on, {
      ...{ id, user_id: userId, kind: 'browser', method: proof.method, ...client, now, last_used_at: now },
      ...{ email_key: proof.emailKey ?? null, passkey_id: proof.passkeyId ?? null, session_epoch: null },
      ...{ idle_expires_at: now + 30 * dayMs, expires_at: now + 180 * dayMs, parent_session_id: null },
      ...{ client_name: null, device_name: null, scope: null, resource: null, authorization_details: null },
      ...{ client_id: null, authenticated_at: null, authenticated_by: null, trust: null },
    });
    await updateChain(on, { ...next, seal: sealChain(keys, next), seen: log.seal });
    await insertEvent(on, { ...event, mac });
  });
  if (!isDone) return undefined;
  return {
    access_token: mintHandle(keys, 'accessToken', {
      subject: secret,
      value: now + accessTokenSeconds * 1000,
    }),
    token_type: 'Bearer',
    expires_in: accessTokenSeconds,
    refresh_token: mintHandle(keys, 'refreshToken', { subject: secret, value: 1 }),
  };
}
