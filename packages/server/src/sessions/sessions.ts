// The public functions of this module. The rest is in the file named after its topic: authentication.ts (the caller
// behind a credential), refresh.ts (spending a refresh token), revocation.ts (what ends a session), policy.ts (what a
// caller's session must be), listing.ts.

import type { Session } from '@latchkey/contract/sessions';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Caller, Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import { AuthError, accountDisabled, invalidCredential } from '../platform/errors.ts';
import { recordUse } from './last-use.ts';
import { loggedStatus, sessionStatus } from './session-status.ts';
import {
  endPreviousSession,
  findPreviousSession,
  insertSession,
  type NewSession,
  needsNotice,
  recordReplacement,
  recordSignIn,
  type StartedSession,
  sendSignInNotice,
} from './starting.ts';
import * as store from './store.ts';
import { readToken, sessionCookieOf, sessionIdOf, tokenSetOf } from './tokens.ts';

/**
 * Starts a session of a locked account. Every sign-in, by whatever method, starts its session here.
 * @throws {AuthError} `account_disabled`; `invalid_grant` if the account is gone or all its sessions were revoked
 */
export async function startSession(ctx: Context, tx: Executor, session: NewSession): Promise<StartedSession> {
  // Before the insert, which would make its own place known.
  const isNoticeDue = await needsNotice(tx, session);
  const previousId = await findPreviousSession(ctx, tx, session);
  const isReplaced = previousId !== undefined && (await endPreviousSession(ctx, tx, session, previousId));
  const started = await insertSession(ctx, tx, session, previousId);
  if (isNoticeDue) await sendSignInNotice(ctx, tx, session, started.id);
  await recordSignIn(ctx, tx, session, started.id);
  if (isReplaced) await recordReplacement(ctx, tx, session, previousId, started.id);
  return started;
}

export type { StartedSession };

/** The id of the session that is or will be started with this `secret`. */
export const sessionIdFor = (secret: Uint8Array): string => sessionIdOf(secret);

/** The first tokens of a session that was just started. */
export const tokensOf = (ctx: Context, session: StartedSession): TokenSet =>
  tokenSetOf(ctx, session.secret, session.rotation);

/** The cookie of a browser session that was just started. */
export const cookieOf = (ctx: Context, session: StartedSession): string =>
  sessionCookieOf(ctx, session.secret);

/**
 * The first tokens of the session started with this secret again, as long as its first refresh token is unspent.
 * @throws {AuthError} `invalid_grant`, `account_disabled`
 */
export async function repeatFirstTokens(ctx: Context, secret: Buffer): Promise<TokenSet> {
  const [session] = await store.findSession(ctx.db.read, { id: sessionIdOf(secret) });
  const status = session ? sessionStatus(session, ctx.clock()) : 'ended';
  if (status === 'disabled') throw accountDisabled();
  if (!session || status === 'ended' || session.generation !== 1) {
    throw new AuthError('invalid_grant', 'The tokens of this sign-in have already been used.', {
      detail: loggedStatus('ended'),
    });
  }
  return tokenSetOf(ctx, secret, session);
}

/**
 * Checks again, in a transaction that holds the account's lock, that the caller's session is still active.
 * @throws {AuthError} `invalid_token`
 */
export async function requireActiveSession(ctx: Context, tx: Executor, caller: Caller): Promise<void> {
  const [session] = await store.findSessionStatus(tx, { id: caller.sessionId });
  const status = session ? sessionStatus(session, ctx.clock()) : 'unknown';
  if (status !== 'active') throw invalidCredential(loggedStatus(status));
}

/**
 * Ends sessions of a locked account that its owner did not start, and those that came from them, whatever state they are
 * in. From then on no sign-in counts as familiar because of them.
 */
export async function disownSessions(
  ctx: Context,
  tx: Executor,
  { userId, sessionIds }: { readonly userId: string; readonly sessionIds: readonly string[] },
): Promise<void> {
  await store.disownSessions(tx, { user_id: userId, ids: JSON.stringify(sessionIds), now: ctx.clock() });
}

/** A token that would be accepted now. Times are milliseconds since 1970. */
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
 * The session and lifetime of an access or refresh token that would be accepted now; undefined for any other string.
 * Does not spend the token. A malformed token costs no query.
 */
export async function findActiveToken(ctx: Context, token: string): Promise<ActiveToken | undefined> {
  const now = ctx.clock();
  const read = readToken(ctx, token);
  if (!read) return undefined;
  const { use, handle } = read;
  const [session] = await store.findSession(ctx.db.read, { id: sessionIdOf(handle.subject) });
  if (!session) return undefined;
  const isAccess = use === 'access_token';
  if (!isAccess && handle.value !== session.generation) return undefined;
  const sessionEndsAt = isAccess ? session.expires_at : session.idle_expires_at;
  if (sessionStatus(session, now, sessionEndsAt) !== 'active') return undefined;
  if (isAccess) recordUse(ctx, session, now);
  return {
    use,
    sessionId: session.id,
    userId: session.user_id,
    kind: session.kind,
    method: session.method,
    startedAt: session.created_at,
    issuedAt: isAccess ? issuedAt(ctx, handle.value, session) : session.rotated_at,
    endsAt: isAccess ? Math.min(handle.value, session.expires_at) : session.idle_expires_at,
  };
}

/** An access token carries only its expiry, so its issue time is one lifetime earlier, within its session's own times. */
const issuedAt = (
  ctx: Context,
  expiresAt: number,
  session: { created_at: number; rotated_at: number },
): number =>
  Math.min(
    Math.max(expiresAt - ctx.config.accessTokenTtlSeconds * 1000, session.created_at),
    session.rotated_at,
  );

/** The sessions of a user for the export of their personal data. */
export const exportSessions = (on: Executor, userId: string) => store.exportSessions(on, { user_id: userId });
