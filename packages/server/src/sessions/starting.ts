import type { loginKinds, loginMethods } from '@latchkey/contract/sessions';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import { readHandle, subjectBytes } from '../platform/crypto/handle.ts';
import type { Executor } from '../platform/database/executor.ts';
import type { Tables } from '../platform/database/schema.ts';
import { type AuthError, accountDisabled, invalidGrant } from '../platform/errors.ts';
import { type ClientInfo, programOf, sameNetwork } from '../platform/values/client-address.ts';
import { lockLog, type NewEvent, recordEvent, withoutNulls } from '../security-log/events/events.ts';
import { type Notice, notify } from '../security-log/notices/notices.ts';
import { recordEnds } from './ending.ts';
import { moveRuns } from './runs/store.ts';
import { sessionStatus } from './status.ts';
import * as store from './store.ts';
import { type Rotation, sessionCookieOf, sessionIdOf, storedScope, tokenSetOf } from './tokens.ts';

export interface NewSession {
  readonly userId: string;
  readonly kind: (typeof loginKinds)[number];
  readonly method: (typeof loginMethods)[number];
  readonly client: ClientInfo;
  readonly clientName?: string | null;
  readonly deviceName?: string | null;
  /** Refuse to start if all sessions were revoked after this epoch. */
  readonly sinceEpoch?: number;
  /** Derived from what the client holds, so a repeated request finds the same session; random by default. */
  readonly secret?: Buffer;
  /** The cookie of the browser's previous session, which this one replaces if it belongs to the same user. */
  readonly replacesCookie?: string | undefined;
  /** The session that approved this device or application. */
  readonly approvedBy?: string | null;
  /** The only client that may refresh this session. */
  readonly clientId?: string | null;
  /** When and how the user signed in to the session that approved this application. */
  readonly authenticatedAt?: number | null;
  readonly authenticatedBy?: Tables['sessions']['authenticated_by'];
  /** The passkey that was used. */
  readonly passkeyId?: string;
  /** The passkey that confirmed the approval of this device or application. */
  readonly touchedPasskeyId?: string | null;
  /** The key of the address that was proven. The account must still have it. */
  readonly emailKey?: string;
  /** The requested scope. Null if the client requested none, which means everything. */
  readonly scope?: string | null;
  /** The only service that accepts the tokens. */
  readonly resource?: string | null;
  /** This sign-in creates the account, so it needs no security notice. */
  readonly makesAccount?: boolean;
}

/** Where a sign-in in a browser comes from, whether a cookie carries its session, and that of the session that it replaces. */
export interface SignInOrigin {
  readonly client: ClientInfo;
  readonly inCookie: boolean;
  readonly replacesCookie: string | undefined;
}

/** A session that was just started, with the secret that its tokens are derived from. */
export interface StartedSession {
  readonly id: string;
  readonly userId: string;
  readonly secret: Buffer;
  readonly rotation: Rotation;
}

/**
 * Starts a session of a locked account. Every sign-in, by whatever method, starts its session here.
 * @throws {AuthError} `account_disabled`; `invalid_grant` if the account is
 * gone or all its sessions were revoked
 */
export async function startSession(ctx: Context, tx: Executor, session: NewSession): Promise<StartedSession> {
  const { userId, client } = session;
  const previous = await findPreviousSession(ctx, tx, session);
  const now = ctx.clock();
  const ending = { id: previous?.id ?? '', user_id: userId, distrusted_as: null, now };
  const [replaced] = previous ? await store.endSession(tx, ending) : [];
  const { started, row } = newSession(ctx, session);
  // Pipelined, in this order: the insert makes its own place known.
  const [isNoticeDue, [inserted], log] = await Promise.all([
    needsNotice(tx, session),
    store.insertSession(tx, row),
    lockLog(ctx, tx, userId),
  ]);
  if (!inserted) throw await whyNotStarted(tx, userId);
  if (isNoticeDue) await notify(ctx, tx, noticeOf(session, started.id));
  await recordEvent(ctx, tx, signInEvent(session, started.id), log);
  if (replaced) {
    // The runs of a session that has ended are over, and stay so.
    if (previous?.isActive) await moveRuns(tx, { from: replaced.id, to: started.id, now });
    await recordEnds(ctx, tx, { userId, client }, [replaced], { reason: 'replaced', by: started.id });
  }
  return started;
}

/** Why no session of an account could be started. */
export async function whyNotStarted(tx: Executor, userId: string): Promise<AuthError> {
  const [account] = await store.findAccountState(tx, { id: userId });
  if (account && account.disabled_at !== null) return accountDisabled();
  return invalidGrant('This sign-in was revoked before it was completed.')('ended');
}

/**
 * Whether the owner gets a notice: for every device, for a browser at an unknown place, and for an
 * application that is new or at an unknown place. Never for the sign-in that creates the account.
 */
async function needsNotice(tx: Executor, session: NewSession): Promise<boolean> {
  if (session.makesAccount) return false;
  if (session.kind === 'device') return true;
  const compared = { user_id: session.userId };
  const earlier = session.clientId
    ? await store.listAppOrigins(tx, { ...compared, client_id: session.clientId })
    : await store.listBrowserOrigins(tx, compared);
  return !isKnownPlace(session.client, earlier);
}

/** The browser's previous session, ended or not, if it belongs to the same user. */
async function findPreviousSession(ctx: Context, tx: Executor, { userId, replacesCookie }: NewSession) {
  const previous = replacesCookie && readHandle(ctx.keys, 'browserSession', replacesCookie);
  if (!previous) return undefined;
  const id = sessionIdOf(previous.subject);
  const [session] = await store.findSessionStatus(tx, { id });
  return session?.user_id === userId
    ? { id, isActive: sessionStatus(session, ctx.clock()) === 'active' }
    : undefined;
}

/** A session with its lifetimes and its first token generation, and the row that is to be inserted. */
function newSession(ctx: Context, session: NewSession) {
  const now = ctx.clock();
  const secret = session.secret ?? ctx.random(subjectBytes);
  const id = sessionIdOf(secret);
  const expiresAt = now + ctx.config.sessionTtlSeconds * 1000;
  const row = {
    id,
    user_id: session.userId,
    session_epoch: session.sinceEpoch ?? null,
    kind: session.kind,
    method: session.method,
    client_name: session.clientName ?? null,
    device_name: session.deviceName ?? null,
    ip_address: session.client.ipAddress,
    user_agent: session.client.userAgent,
    now,
    idle_expires_at: Math.min(now + ctx.config.refreshIdleTtlSeconds * 1000, expiresAt),
    expires_at: expiresAt,
    parent_session_id: session.approvedBy ?? null,
    passkey_id: session.passkeyId ?? null,
    email_key: session.emailKey ?? null,
    scope: storedScope(session.scope),
    resource: session.resource ?? null,
    authorization_details: null,
    client_id: session.clientId ?? null,
    authenticated_at: session.authenticatedAt ?? null,
    authenticated_by: session.authenticatedBy ?? null,
    trust: null,
    last_used_at: now,
  };
  const rotation = {
    generation: 1,
    rotated_at: now,
    expires_at: expiresAt,
    scope: session.scope ?? null,
    authorization_details: null,
    token_ttl_seconds: null,
  };
  return { started: { id, userId: session.userId, secret, rotation }, row };
}

const noticeKindOf = { browser: 'new_browser', device: 'new_device', app: 'new_app' } as const;

/** The security notice about a new device or application, or a browser at a new place. */
const noticeOf = (session: NewSession, sessionId: string): Notice => ({
  kind: noticeKindOf[session.kind],
  userId: session.userId,
  sessionId,
  client: session.client,
  clientName: session.clientName ?? null,
  deviceName: session.deviceName ?? null,
});

const signInEvent = (
  { method, kind, userId, client, clientName, deviceName, touchedPasskeyId }: NewSession,
  sessionId: string,
): NewEvent => ({
  type: 'login',
  userId,
  sessionId,
  client,
  detail: withoutNulls({
    method,
    kind,
    client_name: clientName ?? null,
    device_name: deviceName ?? null,
    passkey_id: touchedPasskeyId ?? null,
  }),
});

type Place = Pick<Tables['sessions'], 'ip_address' | 'user_agent'>;

/** Whether one of the earlier sign-ins came from the same network (/24 or /64) and the same browser. */
const isKnownPlace = ({ ipAddress, userAgent }: ClientInfo, earlier: readonly Place[]): boolean =>
  earlier.some(
    (place) =>
      programOf(place.user_agent) === programOf(userAgent) &&
      (place.ip_address === ipAddress || sameNetwork(place.ip_address, ipAddress)),
  );

/** The first tokens of a session that was just started. */
export const tokensOf = (ctx: Context, session: StartedSession): TokenSet =>
  tokenSetOf(ctx, session.secret, session.rotation);

/** The cookie of a browser session that was just started. */
export const cookieOf = (ctx: Context, session: StartedSession): string =>
  sessionCookieOf(ctx, session.secret);

/**
 * The first tokens of a session again, as long as its first refresh token is unspent.
 * @throws {AuthError} `invalid_grant`, `account_disabled`
 */
export async function repeatFirstTokens(ctx: Context, secret: Buffer, requestedScope: string | null) {
  const [session] = await store.findSession(ctx.db.read, { id: sessionIdOf(secret) });
  const status = session ? sessionStatus(session, ctx.clock()) : 'ended';
  if (status === 'disabled') throw accountDisabled();
  if (!session || status === 'ended' || session.generation !== 1)
    throw invalidGrant('The tokens of this sign-in have already been used.')('ended');
  return tokenSetOf(ctx, secret, { ...session, scope: requestedScope });
}
