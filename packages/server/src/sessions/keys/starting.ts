// Keys: sessions of programs, without refresh tokens.

import type { KeyTrust } from '@latchkey/contract/keys';
import type { Context, Requester } from '../../platform/context.ts';
import { subjectBytes } from '../../platform/crypto/handle.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import type { Executor } from '../../platform/database/executor.ts';
import type { Tables } from '../../platform/database/schema.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { recordEvent, recordOncePerHour, recordOncePerHourIn } from '../../security-log/events/events.ts';
import { notify } from '../../security-log/notices/notices.ts';
import { announceNewKey } from '../announcements.ts';
import { type KeyRow, keyDetail } from '../ending.ts';
import { whyNotStarted } from '../starting.ts';
import * as store from '../store.ts';
import { keyOf, sessionIdOf, storedScope } from '../tokens.ts';

/** A key to be made. */
interface NewKey {
  readonly name: string;
  readonly scope: string;
  readonly resource: string | null;
  /** A JSON array, if any. @see RFC 9396 section 2 */
  readonly authorizationDetails: string | null;
  /** Whose tokens stand for the key, which then has no secret. */
  readonly trust: KeyTrust | null;
  readonly expiresInSeconds: number;
}

/** Records, at most once an hour, that a token of an issuer stood for a key. */
export const recordUsedKey = (
  ctx: Context,
  tx: Executor,
  cause: { readonly userId: string; readonly client: ClientInfo },
  { id, client_name }: Pick<KeyRow, 'id' | 'client_name'>,
  { issuer, subject }: { readonly issuer: string; readonly subject: string | undefined },
): Promise<void> => {
  const detail = {
    key_id: id,
    name: client_name ?? '',
    issuer,
    ...(subject === undefined ? {} : { subject }),
  };
  return recordOncePerHourIn(ctx, tx, { ...cause, type: 'key_used', sessionId: id, detail }, id);
};

/**
 * Records, at most once an hour for each claim, that a token which the issuer of a key signed did not match it. Names the claim, never
 * its value.
 */
export const recordRefusedKey = (
  ctx: Context,
  {
    client,
    session,
    issuer,
    claim,
  }: {
    readonly client: ClientInfo;
    readonly session: Pick<Tables['sessions'], 'id' | 'user_id' | 'client_name'>;
    readonly issuer: string;
    readonly claim: string;
  },
): Promise<void> => {
  const { id: sessionId, user_id: userId, client_name } = session;
  const detail = { key_id: sessionId, name: client_name ?? '', issuer, claim };
  // Names of claims may be longer than an index allows.
  const subject = `${sessionId} ${sha256('claim', claim).toString('base64url')}`;
  return recordOncePerHour(ctx, { type: 'key_refused', userId, sessionId, client, detail }, subject);
};

/**
 * Makes a key for a locked account, notifies its owner and records it; call it last. `key` is the key itself, which is not stored; undefined if tokens of
 * an issuer stand for it. Times are milliseconds since 1970.
 * @throws {AuthError} `account_disabled`
 */
export async function startKey(
  ctx: Context,
  tx: Executor,
  { caller: { userId, sessionId }, client }: Requester,
  key: NewKey,
) {
  const createdAt = ctx.clock();
  const expiresAt = createdAt + key.expiresInSeconds * 1000;
  const secret = ctx.random(subjectBytes);
  const row = {
    id: sessionIdOf(secret, 'key_'),
    client_name: key.name,
    scope: storedScope(key.scope),
    resource: key.resource,
  };
  const [inserted] = await store.insertSession(tx, {
    ...row,
    trust: key.trust && JSON.stringify(key.trust),
    user_id: userId,
    session_epoch: null,
    kind: 'key',
    method: 'key',
    device_name: null,
    ip_address: client.ipAddress,
    user_agent: client.userAgent,
    now: createdAt,
    // A key has no idle timeout.
    idle_expires_at: expiresAt,
    expires_at: expiresAt,
    parent_session_id: null,
    passkey_id: null,
    email_key: null,
    authorization_details: key.authorizationDetails,
    client_id: null,
    authenticated_at: null,
    authenticated_by: null,
    // Never used.
    last_used_at: 0,
  });
  if (!inserted) throw await whyNotStarted(tx, userId);
  await notify(ctx, tx, { kind: 'key_added', userId, sessionId, client, keyName: key.name });
  const detail = { ...keyDetail(row), ...(key.trust && { issuer: key.trust.issuer }) };
  await recordEvent(ctx, tx, { type: 'key_created', userId, sessionId, client, detail });
  await announceNewKey(ctx, tx, userId, row.id);
  const shown = key.trust === null ? keyOf(ctx, secret, expiresAt) : undefined;
  return { id: row.id, key: shown, createdAt, expiresAt };
}

export const parseTrust = (stored: string): KeyTrust => JSON.parse(stored) as KeyTrust;
