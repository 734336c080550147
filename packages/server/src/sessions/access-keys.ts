// Keys: sessions of programs, without refresh tokens. The steps of `startKey` in sessions.ts, and what their end records.

import type { KeyTrust } from '@latchkey/contract/keys';
import { everything } from '@latchkey/contract/scopes';
import type { Caller, Context } from '../platform/context.ts';
import { subjectBytes } from '../platform/crypto/handle.ts';
import type { Executor } from '../platform/database/executor.ts';
import type { Tables } from '../platform/database/schema.ts';
import type { ClientInfo } from '../platform/values/client-info.ts';
import { recordEvent, recordOncePerHourIn } from '../security-log/events/events.ts';
import { notify } from '../security-log/notices/notices.ts';
import { announceKey } from './announcements.ts';
import { storedScope, whyNotStarted } from './starting.ts';
import * as store from './store.ts';
import { keyOf, sessionIdOf } from './tokens.ts';

/** A key to be made. Times are milliseconds since 1970. */
interface NewKey {
  readonly caller: Caller;
  readonly client: ClientInfo;
  readonly name: string;
  readonly scope: string;
  readonly resource: string | null;
  /** A JSON array, if any. @see RFC 9396 section 2 */
  readonly authorizationDetails: string | null;
  /** Whose tokens stand for the key, which then has no secret. */
  readonly trust: KeyTrust | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A stored key, as events and notices describe it. */
type KeyRow = Pick<Tables['sessions'], 'id' | 'client_name' | 'scope' | 'resource'>;

/**
 * Inserts a key and returns it with its secret, which is not stored.
 * @throws {AuthError} `account_disabled`; `invalid_grant` if the account is gone
 */
async function insertKey(
  ctx: Context,
  tx: Executor,
  { caller, client, createdAt, expiresAt, ...key }: NewKey,
): Promise<KeyRow & Pick<Tables['sessions'], 'trust'> & { readonly secret: Buffer }> {
  const secret = ctx.random(subjectBytes);
  const row = {
    id: sessionIdOf(secret, 'key_'),
    client_name: key.name,
    scope: storedScope(key.scope),
    resource: key.resource,
    trust: key.trust === null ? null : JSON.stringify(key.trust),
  };
  const [inserted] = await store.insertSession(tx, {
    ...row,
    user_id: caller.userId,
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
    parent_session_id: caller.sessionId,
    passkey_id: null,
    email_key: null,
    authorization_details: key.authorizationDetails,
    client_id: null,
    authenticated_at: null,
    authenticated_by: null,
    // Never used.
    last_used_at: 0,
  });
  if (!inserted) throw await whyNotStarted(tx, caller.userId);
  return { ...row, secret };
}

/** Notifies the owner of a new key, records it, and announces it to services. */
async function recordNewKey(
  ctx: Context,
  tx: Executor,
  { caller: { userId, sessionId }, client }: Pick<NewKey, 'caller' | 'client'>,
  key: KeyRow & Pick<Tables['sessions'], 'trust'>,
): Promise<void> {
  await notify(ctx, tx, { kind: 'key_added', userId, sessionId, client, keyName: key.client_name });
  const issuer = key.trust === null ? {} : { issuer: parseTrust(key.trust).issuer };
  const detail = { ...detailOf(key), ...issuer };
  await recordEvent(ctx, tx, { type: 'key_created', userId, sessionId, client, detail });
  await announceKey(ctx, tx, userId, key.id, 'create');
}

/**
 * Notifies the owner that a key was removed and records it: `by` the session that removed it, or by the caller that presented the
 * key itself. A `reason` is recorded only where the key ended itself.
 */
export async function recordRemovedKey(
  ctx: Context,
  tx: Executor,
  remover: { readonly userId: string; readonly by: string | undefined; readonly client: ClientInfo },
  key: KeyRow,
  { reason }: Readonly<Record<string, string>>,
): Promise<void> {
  const { userId, client, by: sessionId = key.id } = remover;
  await notify(ctx, tx, { kind: 'key_removed', userId, sessionId, client, keyName: key.client_name });
  const detail = { ...detailOf(key), ...(sessionId === key.id && reason !== undefined ? { reason } : {}) };
  await recordEvent(ctx, tx, { type: 'key_removed', userId, sessionId, client, detail });
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

const detailOf = ({ id, client_name, scope, resource }: KeyRow): Record<string, string> => ({
  key_id: id,
  name: client_name ?? '',
  scope: scope ?? everything,
  ...(resource === null ? {} : { resource }),
});

/** Times are milliseconds since 1970. */
export interface StartedKey {
  readonly id: string;
  /** The key itself, which is not stored. Undefined if tokens of an issuer stand for it. */
  readonly key: string | undefined;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/**
 * Makes a key for a locked account, notifies its owner and records it; call it last. It counts as started by the caller's session, so whatever undoes that session ends
 * the key.
 * @throws {AuthError} `account_disabled`
 */
export async function startKey(
  ctx: Context,
  tx: Executor,
  { caller, client }: { readonly caller: Caller; readonly client: ClientInfo },
  {
    expiresInSeconds,
    ...key
  }: Omit<NewKey, 'createdAt' | 'expiresAt' | 'caller' | 'client'> & {
    readonly expiresInSeconds: number;
  },
): Promise<StartedKey> {
  const createdAt = ctx.clock();
  const expiresAt = createdAt + expiresInSeconds * 1000;
  const row = await insertKey(ctx, tx, { ...key, caller, client, createdAt, expiresAt });
  await recordNewKey(ctx, tx, { caller, client }, row);
  const secret = key.trust === null ? keyOf(ctx, row.secret, expiresAt) : undefined;
  return { id: row.id, key: secret, createdAt, expiresAt };
}

export const parseTrust = (stored: string): KeyTrust => JSON.parse(stored) as KeyTrust;
