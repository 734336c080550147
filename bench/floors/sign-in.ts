// What every sign-in in a browser must write: the session, once its place has been compared with those of earlier ones, and a
// sealed event, counted, in the security log of its account, in the transaction that spends its proof. No notices, cookies or sessions
// that it replaces.

import { subjectBytes } from '../../packages/server/src/platform/crypto/handle.ts';
import { newId, systemRandom } from '../../packages/server/src/platform/crypto/primitives.ts';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';
import {
  macBeforeNext,
  nextCount,
  nextTotal,
  reseal,
  sealEvent,
} from '../../packages/server/src/security-log/events/chain.ts';
import { lockLog } from '../../packages/server/src/security-log/events/events.ts';
import { appendEvent } from '../../packages/server/src/security-log/events/store.ts';
import { insertSession, listBrowserOrigins } from '../../packages/server/src/sessions/store.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/tokens.ts';
import { keys, tokensOf } from './server.ts';

const dayMs = 24 * 3600 * 1000;

export interface SignIn {
  readonly userId: string;
  readonly method: 'magic_link' | 'passkey';
  readonly emailKey?: string;
  readonly passkeyId?: string;
  readonly userAgent: string | null;
}

/** Starts the session of a proof that was spent in the same transaction, and returns its tokens. Undefined if the account is gone. */
export async function signIn(tx: Executor, { userId, ...proof }: SignIn): Promise<object | undefined> {
  const now = Date.now();
  const client = { ip_address: '127.0.0.1', user_agent: proof.userAgent };
  const secret = systemRandom(subjectBytes);
  const id = sessionIdOf(secret);
  const [, [inserted], log] = await Promise.all([
    listBrowserOrigins(tx, { user_id: userId }),
    insertSession(tx, {
      ...{ id, user_id: userId, kind: 'browser', method: proof.method, ...client, now, last_used_at: now },
      ...{ email_key: proof.emailKey ?? null, passkey_id: proof.passkeyId ?? null, session_epoch: null },
      ...{ idle_expires_at: now + 30 * dayMs, expires_at: now + 180 * dayMs, parent_session_id: null },
      ...{ client_name: null, device_name: null, scope: null, resource: null, authorization_details: null },
      ...{ client_id: null, authenticated_at: null, authenticated_by: null, trust: null },
    }),
    lockLog({ random: systemRandom }, tx, userId),
  ]);
  if (!inserted || !log) return undefined;
  const event = {
    ...{ id: newId('evt_', systemRandom), user_id: userId, type: 'login', session_id: id, ...client },
    ...{ detail: JSON.stringify({ method: proof.method, kind: 'browser' }), created_at: now },
    ...{ seq: log.head_seq + 1, once: null },
  };
  const mac = sealEvent(keys, event, macBeforeNext(keys, log));
  const ends = { head_seq: event.seq, head_mac: mac, head_at: now, oldest_at: log.oldest_at ?? now };
  const next = { ...log, ...ends, ...nextCount(keys, log, event.seq) };
  await appendEvent(tx, reseal(keys, next), { ...event, mac }, nextTotal(keys, log.total, 1));
  return tokensOf(secret, 1);
}
