import type { Session } from '@latchkey/contract/sessions';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Caller, Context } from '../platform/context.ts';
import { type ReadHandle, readHandle, subjectBytes } from '../platform/crypto/handle.ts';
import type { Executor } from '../platform/database/executor.ts';
import { lockAccountRow } from '../platform/database/locks.ts';
import { type PageRequest, paginate, parseCursor } from '../platform/database/pagination.ts';
import { AuthError, bearerChallenge, invalidCredential, resourceNotFound } from '../platform/errors.ts';
import { networkKey } from '../platform/values/client-address.ts';
import type { ClientInfo } from '../platform/values/client-info.ts';
import { recordEvent } from '../security-log/events/events.ts';
import { notify } from '../security-log/notices/notices.ts';
import { isKnownPlace, programOf } from './known-places.ts';
import { sessionStatus } from './session-status.ts';
import * as store from './store.ts';
import { type Rotation, sessionCookieOf, sessionIdOf, tokenSetOf } from './tokens.ts';

/** How often the use of a session is written down at most; more often where its idle life is short. */
const touchIntervalMs = (ctx: Context): number =>
  Math.min(5 * 60 * 1000, ctx.config.refreshIdleTtlSeconds * 100);

/** How many of the newest logins of an account a new one is compared with. */
const familiarLogins = 100;

export interface NewSession {
  readonly userId: string;
  readonly kind: Session['kind'];
  readonly method: Session['method'];
  readonly client: ClientInfo;
  readonly clientName?: string | null;
  readonly deviceName?: string | null;
  /** Start it only if nobody has ended all logins since this epoch. */
  readonly sinceEpoch?: number;
  /** Derived from what the client holds, so that a repeated request finds the same session; random otherwise. */
  readonly secret?: Buffer;
  /** The cookie of the browser's former session, which the new one replaces if it is of the same user. */
  readonly replacesCookie?: string | undefined;
  /** The session that approved this device. */
  readonly approvedBy?: string | null;
  /** The passkey that was used. */
  readonly passkeyId?: string;
  /** The key of the address that was proven; the account must still have it. */
  readonly emailKey?: string;
  /** This login makes the account, so nobody needs to be told of it. */
  readonly makesAccount?: boolean;
}

/** A session that was just started, with the secret that its tokens are made from. */
export interface StartedSession {
  readonly id: string;
  readonly userId: string;
  readonly secret: Buffer;
  readonly rotation: Rotation;
}

/**
 * Starts a session of a locked account: the last step of every login, whatever the grant.
 * @throws {AuthError} `account_disabled`; `invalid_grant` when the account is gone or all logins were ended
 */
export async function startSession(ctx: Context, tx: Executor, session: NewSession): Promise<StartedSession> {
  const now = ctx.clock();
  const secret = session.secret ?? ctx.random(subjectBytes);
  const expiresAt = now + ctx.config.sessionTtlSeconds * 1000;
  const isNews = session.makesAccount ? false : await isFromNewPlace(tx, session);
  const former = await findFormerSession(ctx, tx, session);
  const replaced = former && (await endReplacedSession(ctx, tx, session, former));
  const [row] = await store.insertSession(tx, {
    id: sessionIdOf(secret),
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
    parent_session_id: session.approvedBy ?? former ?? null,
    passkey_id: session.passkeyId ?? null,
    email_key: session.emailKey ?? null,
  });
  if (!row) throw await refusalOf(tx, session.userId);
  if (isNews) {
    await notify(ctx, tx, {
      kind: session.kind === 'device' ? 'new_device' : 'new_browser',
      userId: session.userId,
      sessionId: row.id,
      client: session.client,
      clientName: session.clientName ?? null,
      deviceName: session.deviceName ?? null,
    });
  }
  await recordEvent(ctx, tx, {
    type: 'login',
    userId: session.userId,
    sessionId: row.id,
    client: session.client,
    detail: { method: session.method, kind: session.kind },
  });
  if (replaced !== undefined) {
    await recordEvent(ctx, tx, {
      type: 'session_revoked',
      userId: session.userId,
      sessionId: replaced,
      client: session.client,
      detail: { reason: 'replaced', by: row.id },
    });
  }
  return { id: row.id, userId: session.userId, secret, rotation: row };
}

async function refusalOf(tx: Executor, userId: string): Promise<AuthError> {
  const [user] = await store.findAccountState(tx, { id: userId });
  return user && user.disabled_at !== null
    ? new AuthError('account_disabled', 'This account has been disabled.')
    : new AuthError('invalid_grant', 'The login was ended before it was picked up.', { detail: 'over' });
}

/** Where a login came from: two logins of one place have the same network and browser. */
export const placeOf = (login: { ip_address: string | null; user_agent: string | null }): string =>
  `${networkKey(login.ip_address)} ${programOf(login.user_agent)}`;

/** Whether the person should hear of this login: every device, and a browser where there was none like it. */
async function isFromNewPlace(tx: Executor, { kind, userId, client }: NewSession): Promise<boolean> {
  if (kind === 'device') return true;
  const earlier = await store.listLoginOrigins(tx, { user_id: userId, limit: familiarLogins });
  return !isKnownPlace(client, earlier);
}

/** The browser's former session, ended or not, if it is of the same user: the new one came of it. */
async function findFormerSession(
  ctx: Context,
  tx: Executor,
  { userId, replacesCookie }: NewSession,
): Promise<string | undefined> {
  const former = replacesCookie && readHandle(ctx.keys, 'browserSession', replacesCookie);
  if (!former) return undefined;
  const id = sessionIdOf(former.subject);
  const [session] = await store.findSessionStatus(tx, { id });
  return session?.user_id === userId ? id : undefined;
}

/** Ends the browser's former session if it is live; its id. */
async function endReplacedSession(
  ctx: Context,
  tx: Executor,
  { userId }: NewSession,
  former: string,
): Promise<string | undefined> {
  const [ended] = await store.revokeSession(tx, { id: former, user_id: userId, now: ctx.clock() });
  return ended?.id;
}

/** The id of the session that is or will be started with this `secret`. */
export const sessionIdFor = (secret: Uint8Array): string => sessionIdOf(secret);

export const tokensOf = (ctx: Context, session: StartedSession): TokenSet =>
  tokenSetOf(ctx, session.secret, session.rotation);

export const cookieOf = (ctx: Context, session: StartedSession): string =>
  sessionCookieOf(ctx, session.secret);

/**
 * The tokens that starting a session with this secret gave, as long as its first refresh token is unspent.
 * @throws {AuthError} `invalid_grant`, `account_disabled`
 */
export async function repeatFirstTokens(ctx: Context, secret: Buffer): Promise<TokenSet> {
  const [session] = await store.findSession(ctx.db.read, { id: sessionIdOf(secret) });
  const standing = session ? sessionStatus(session, ctx.clock()) : 'over';
  if (standing === 'disabled') throw new AuthError('account_disabled', 'This account has been disabled.');
  if (!session || standing === 'over' || session.generation !== 1) {
    throw new AuthError('invalid_grant', 'The tokens of this login were already used.', { detail: 'over' });
  }
  return tokenSetOf(ctx, secret, session);
}

export interface Credential {
  readonly type: 'bearer' | 'cookie';
  readonly value: string;
}

/** The answer to a request without any credential. @see RFC 6750 section 3 */
export const missingCredential = (): AuthError =>
  new AuthError('invalid_token', 'An access token is needed.', {
    detail: 'no_credential',
    headers: { 'WWW-Authenticate': bearerChallenge },
  });

/** Made once: floods of garbage are answered with it. */
const malformedCredential = invalidCredential('malformed');

/**
 * Who presents this access token or session cookie. Garbage is refused without a statement; a revocation holds
 * from the moment it is committed.
 * @throws {AuthError} `invalid_token`
 */
export function authenticate(ctx: Context, credential: Credential): Promise<Caller> {
  const kind = credential.type === 'cookie' ? 'browserSession' : 'accessToken';
  const handle = readHandle(ctx.keys, kind, credential.value);
  // Thrown and not rejected: floods of garbage are refused in one step.
  if (!handle) throw malformedCredential;
  return identifyCaller(ctx, credential.type, handle);
}

async function identifyCaller(ctx: Context, type: Credential['type'], handle: ReadHandle): Promise<Caller> {
  const isCookie = type === 'cookie';
  const now = ctx.clock();
  if (!isCookie && handle.value <= now) throw invalidCredential('expired');
  const id = sessionIdOf(handle.subject);
  const [session] = await store.findSessionStatus(ctx.db.read, { id });
  if (!session) throw invalidCredential('unknown');
  // An access token lives to its own end, also where the refresh token idles out before it.
  const ends = isCookie ? session.idle_expires_at : session.expires_at;
  const standing = sessionStatus(session, now, ends);
  if (standing !== 'live') throw invalidCredential(standing);

  const touched = now - session.last_used_at >= touchIntervalMs(ctx);
  if (touched) touch(ctx, id, isCookie, now);
  const renew = isCookie && (touched || handle.key !== ctx.keys.signing);
  return {
    sessionId: id,
    userId: session.user_id,
    kind: session.kind,
    authenticatedAt: session.created_at,
    credential: type,
    renewedCookie: renew ? sessionCookieOf(ctx, handle.subject) : undefined,
  };
}

/** Not awaited: losing the note of one use harms nobody, waiting for it would slow every first request. */
function touch(ctx: Context, id: string, extendsIdleLife: boolean, now: number): void {
  store
    .touchSession(ctx.db.single, {
      id,
      now,
      unless_since: now - touchIntervalMs(ctx) + 1,
      idle_expires_at: extendsIdleLife ? now + ctx.config.refreshIdleTtlSeconds * 1000 : 0,
    })
    .catch(() => ctx.log.warn('the use of a session could not be noted'));
}

/**
 * The answer where a login is too old or of the wrong kind.
 * @see RFC 9470 section 3
 */
export function requireRecentLogin(ctx: Context, caller: Caller): void {
  const maxAge = ctx.config.recentLoginTtlSeconds;
  if (caller.kind === 'browser' && ctx.clock() - caller.authenticatedAt <= maxAge * 1000) return;
  throw insufficientAuthentication('This needs a login by passkey or mail that is recent.', maxAge);
}

/**
 * Refuses, inside a transaction that holds the account's lock, a login that was ended since it was checked.
 * @throws {AuthError} `invalid_token`
 */
export async function requireActiveSession(ctx: Context, tx: Executor, caller: Caller): Promise<void> {
  const [session] = await store.findSessionStatus(tx, { id: caller.sessionId });
  const standing = session ? sessionStatus(session, ctx.clock()) : 'unknown';
  if (standing !== 'live') throw invalidCredential(standing);
}

/** Refuses logins that came from a device code: what a person decides in a browser, a program may not. */
export function requireBrowserSession(ctx: Context, caller: Caller): void {
  if (caller.kind === 'browser') return;
  throw insufficientAuthentication('This needs a login in a browser.', ctx.config.recentLoginTtlSeconds);
}

const insufficientAuthentication = (description: string, maxAge: number): AuthError =>
  new AuthError('insufficient_user_authentication', description, {
    headers: {
      'WWW-Authenticate': `${bearerChallenge}, error="insufficient_user_authentication", error_description="${description}", max_age="${maxAge}"`,
    },
  });

/** The live logins of a user, newest first. */
export async function listSessions(
  ctx: Context,
  caller: Caller,
  page: PageRequest,
): Promise<{ sessions: Session[]; next_cursor: string | null }> {
  const before = parseCursor(page.cursor, { time: Number.MAX_SAFE_INTEGER, id: '' });
  const rows = await store.listSessions(ctx.db.read, {
    user_id: caller.userId,
    now: ctx.clock(),
    before_time: before.time,
    before_id: before.id,
    limit: page.limit + 1,
  });
  const { entries, next_cursor } = paginate(rows, page.limit, (row) => ({
    time: row.created_at,
    id: row.id,
  }));
  const sessions = entries.map((row) => ({
    id: row.id,
    kind: row.kind,
    method: row.method,
    client_name: row.client_name,
    device_name: row.device_name,
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    created_at: new Date(row.created_at).toISOString(),
    last_used_at: new Date(row.last_used_at).toISOString(),
    current: row.id === caller.sessionId,
  }));
  return { sessions, next_cursor };
}

/** How a login came to its end: by itself, by another one, or by whoever held one of its tokens. */
function reasonOf(sessionId: string, by: string | undefined): Record<string, string> {
  if (by === undefined) return { reason: 'token' };
  return by === sessionId ? { reason: 'logout' } : { reason: 'other_session', by };
}

/**
 * Ends one login of the user, or keeps one from beginning that was approved and not picked up by its device.
 * @throws {AuthError} `not_found`, also for another user's session
 */
export async function revokeSession(
  ctx: Context,
  owner: { readonly userId: string; readonly sessionId?: string },
  sessionId: string,
  client: ClientInfo,
): Promise<void> {
  const ended = await ctx.db.transaction(async (tx) => {
    await lockAccountRow(tx, { id: owner.userId });
    // In this order: what a device picks up in between is found as a session.
    const [withdrawn] = await store.withdrawApproval(tx, { session_id: sessionId, user_id: owner.userId });
    const [ended] = withdrawn
      ? []
      : await store.revokeSession(tx, { id: sessionId, user_id: owner.userId, now: ctx.clock() });
    if (!withdrawn && !ended) return false;
    await recordEvent(ctx, tx, {
      type: 'session_revoked',
      userId: owner.userId,
      sessionId,
      client,
      detail: withdrawn ? { reason: 'withdrawn' } : reasonOf(sessionId, owner.sessionId),
    });
    return true;
  });
  if (!ended) throw resourceNotFound();
}

/** Ends the login that was presented; ending it twice at once is no error. */
export const revokeOwnSession = (ctx: Context, caller: Caller, client: ClientInfo): Promise<void> =>
  revokeSession(ctx, caller, caller.sessionId, client).catch((error) => {
    if (!(error instanceof AuthError && error.code === 'not_found')) throw error;
  });

/**
 * Ends every login of the user, device logins approved but not picked up included: for the person by one of these
 * logins, or for the operator. Does nothing when the account is gone.
 */
export const revokeAllSessions = (
  ctx: Context,
  userId: string,
  by: { readonly sessionId: string; readonly client: ClientInfo } | 'operator',
): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const [account] = await store.revokeAllSessions(tx, { user_id: userId });
    if (!account) return;
    const cause = by === 'operator' ? { detail: { by } } : by;
    await recordEvent(ctx, tx, { type: 'all_sessions_revoked', userId, ...cause });
  });

/**
 * Ends the session of a refresh or access token, and does nothing for any other string.
 * @see RFC 7009 section 2.2
 */
export async function revokeByToken(ctx: Context, token: string, client: ClientInfo): Promise<void> {
  const access = readHandle(ctx.keys, 'accessToken', token);
  const handle = readHandle(ctx.keys, 'refreshToken', token) ?? access;
  if (!handle || (access && access.value <= ctx.clock())) return;
  const id = sessionIdOf(handle.subject);
  const [session] = await store.findSession(ctx.db.read, { id });
  if (!session) return;
  await revokeSession(ctx, { userId: session.user_id }, id, client).catch((error) => {
    if (!(error instanceof AuthError && error.code === 'not_found')) throw error;
  });
}

/** A token that is good at this moment. Times are milliseconds since 1970. */
export interface ActiveToken {
  readonly use: 'access_token' | 'refresh_token';
  readonly sessionId: string;
  readonly userId: string;
  readonly kind: Session['kind'];
  readonly method: Session['method'];
  readonly startedAt: number;
  readonly issuedAt: number;
  readonly endsAt: number;
}

/**
 * Whose access or refresh token this is, if it would be accepted now; nothing for any other string. Spends
 * nothing; garbage is answered without a statement.
 */
export async function findActiveToken(ctx: Context, token: string): Promise<ActiveToken | undefined> {
  const access = readHandle(ctx.keys, 'accessToken', token);
  const handle = access ?? readHandle(ctx.keys, 'refreshToken', token);
  const now = ctx.clock();
  if (!handle || (access && access.value <= now)) return undefined;
  const [session] = await store.findSession(ctx.db.read, { id: sessionIdOf(handle.subject) });
  if (!session || (!access && handle.value !== session.generation)) return undefined;
  const sessionEndsAt = access ? session.expires_at : session.idle_expires_at;
  if (sessionStatus(session, now, sessionEndsAt) !== 'live') return undefined;
  if (access && now - session.last_used_at >= touchIntervalMs(ctx)) touch(ctx, session.id, false, now);
  return {
    use: access ? 'access_token' : 'refresh_token',
    sessionId: session.id,
    userId: session.user_id,
    kind: session.kind,
    method: session.method,
    startedAt: session.created_at,
    issuedAt: access ? issuedAt(ctx, access.value, session) : session.rotated_at,
    endsAt: access ? Math.min(access.value, session.expires_at) : session.idle_expires_at,
  };
}

/** An access token carries its end alone: it was issued one life before, within the session's own life. */
const issuedAt = (
  ctx: Context,
  endsAt: number,
  session: { created_at: number; rotated_at: number },
): number =>
  Math.min(
    Math.max(endsAt - ctx.config.accessTokenTtlSeconds * 1000, session.created_at),
    session.rotated_at,
  );
