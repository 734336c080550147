// What every sign-in in a browser must write: the session, once its place has been compared with those of earlier ones, and a
// sealed event in the security log of its account. No notices, cookies or sessions that it replaces.

import { mintHandle, subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import type { KeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { newId, systemRandom } from '../../packages/server/src/platform/crypto/random.ts';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';
import { macBeforeNext, sealChain, sealEvent } from '../../packages/server/src/security-log/events/chain.ts';
import * as events from '../../packages/server/src/security-log/events/store.ts';
import { listBrowserOrigins } from '../../packages/server/src/sessions/origins/store.ts';
import { insertSession } from '../../packages/server/src/sessions/store.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';

const dayMs = 24 * 3600 * 1000;
const accessTokenSeconds = 4 * 3600;

export interface SignIn {
  readonly userId: string;
  readonly method: 'magic_link' | 'passkey';
  readonly emailKey?: string;
  readonly passkeyId?: string;
  readonly userAgent: string | null;
}

/** Starts the session in the transaction of its proof, and returns its tokens. */
export async function signIn(tx: Executor, keys: KeyRing, { userId, ...proof }: SignIn): Promise<object> {
  const now = Date.now();
  const client = { ip_address: '127.0.0.1', user_agent: proof.userAgent };
  const secret = systemRandom(subjectBytes);
  const id = sessionIdOf(secret);
  // Pipelined, in this order: the session itself would be among the origins.
  await Promise.all([
    listBrowserOrigins(tx, { user_id: userId }),
    insertSession(tx, {
      ...{ id, user_id: userId, kind: 'browser', method: proof.method, ...client, now, last_used_at: now },
      ...{ email_key: proof.emailKey ?? null, passkey_id: proof.passkeyId ?? null, session_epoch: null },
      ...{ idle_expires_at: now + 30 * dayMs, expires_at: now + 180 * dayMs, parent_session_id: null },
      ...{ client_name: null, device_name: null, scope: null, resource: null, authorization_details: null },
      ...{ client_id: null, authenticated_at: null, authenticated_by: null, trust: null },
    }),
  ]);
  await recordEvent(tx, keys, {
    ...{
      id: newId('evt_', systemRandom),
      user_id: userId,
      type: 'login',
      session_id: id,
      ...client,
      once: null,
    },
    detail: JSON.stringify({ method: proof.method, kind: 'browser' }),
    created_at: now,
  });
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

type NewEvent = Omit<Parameters<typeof events.insertEvent>[1], 'seq' | 'mac'>;

async function recordEvent(tx: Executor, keys: KeyRing, event: NewEvent): Promise<void> {
  const owner = { user_id: event.user_id };
  let [chain] = await events.lockChain(tx, owner);
  if (!chain) {
    await events.insertChain(tx, owner);
    [chain] = await events.lockChain(tx, owner);
  }
  const row = { ...event, seq: chain!.head_seq + 1 };
  const mac = sealEvent(keys, row, macBeforeNext(keys, chain!));
  const head = { head_seq: row.seq, head_mac: mac, head_at: row.created_at };
  const next = { ...chain!, ...head, oldest_at: chain!.oldest_at ?? row.created_at };
  await Promise.all([
    events.insertEvent(tx, { ...row, mac }),
    events.updateChain(tx, { ...next, seal: sealChain(keys, next), seen: chain!.seal }),
  ]);
}
