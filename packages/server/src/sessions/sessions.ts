import { everything } from '@latchkey/contract/scopes';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Caller, Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import { AuthError, accountDisabled, invalidCredential } from '../platform/errors.ts';
import { recordEvent, recordNextEvent } from '../security-log/events/events.ts';
import { notify, notifyAtOnce } from '../security-log/notices/notices.ts';
import type { Authentication } from './authentication-claims.ts';
import { findLogWithOrigins } from './origins/store.ts';
import { moveRuns } from './runs/store.ts';
import { sessionStatus } from './session-status.ts';
import {
  endPreviousSession,
  findPreviousSession,
  insertSession,
  isKnownPlace,
  type NewSession,
  needsNotice,
  newSession,
  noticeOf,
  recordReplacement,
  type SignInOrigin,
  type StartedSession,
  signInEvent,
} from './starting.ts';
import * as store from './store.ts';
import { sessionCookieOf, sessionIdOf, tokenSetOf } from './tokens.ts';

/**
 * Starts a session of a locked account. Every sign-in, by whatever method, starts its session here.
 * @throws {AuthError} `account_disabled`; `invalid_grant` if the account is gone or all its sessions were revoked
 */
export async function startSession(ctx: Context, tx: Executor, session: NewSession): Promise<StartedSession> {
  const previousId = await findPreviousSession(ctx, tx, session);
  const isReplaced = previousId !== undefined && (await endPreviousSession(ctx, tx, session, previousId));
  // Pipelined, in this order: the insert makes its own place known.
  const [isNoticeDue, started] = await Promise.all([
    needsNotice(tx, session),
    insertSession(ctx, tx, session, previousId),
  ]);
  if (isNoticeDue) await notify(ctx, tx, noticeOf(session, started.id));
  await recordEvent(ctx, tx, signInEvent(session, started.id));
  if (isReplaced) {
    await moveRuns(tx, { from: previousId, to: started.id, now: ctx.clock() });
    await recordReplacement(ctx, tx, session, previousId, started.id);
  }
  return started;
}

/**
 * Starts a session in a browser or on a device like `startSession`, in one batch with `proof`, which is spent in the same moment.
 * Undefined if that needs a transaction, and then nothing has happened: the browser has an earlier session, the notice belongs into a
 * digest, the account is locked, disabled or gone, another event is recorded at the same time, or `proof` has no effect.
 */
export async function startAtOnce(
  ctx: Context,
  session: NewSession & { readonly kind: 'browser' | 'device' },
  proof: (on: Executor) => Promise<unknown>,
): Promise<StartedSession | undefined> {
  if (session.replacesCookie) return undefined;
  const [found] = await findLogWithOrigins(ctx.db.read, { id: session.userId });
  if (!found) return undefined;
  const { origins, email: recipient, ...log } = found;
  const places = (JSON.parse(origins) as [string | null, string | null][]).map(
    ([ip_address, user_agent]) => ({
      ip_address,
      user_agent,
    }),
  );
  const isNoticeDue = session.kind === 'device' || !isKnownPlace(session.client, places);
  const { started, row } = newSession(ctx, session, undefined);
  const isStarted = await ctx.db.batch(async (on) => {
    await proof(on);
    await store.insertSession(on, row);
    if (isNoticeDue) await notifyAtOnce(ctx, on, { ...noticeOf(session, started.id), recipient });
    await recordNextEvent(ctx, on, log, signInEvent(session, started.id));
  });
  return isStarted ? started : undefined;
}

export type { SignInOrigin, StartedSession };

/** The session of an application that a user signed in to. Times are milliseconds since 1970. */
export interface AppSession {
  readonly userId: string;
  readonly clientId: string;
  /** Scope names separated by spaces. */
  readonly scope: string;
  /** When it got its newest tokens. */
  readonly rotatedAt: number;
  /** How and when the user had signed in to the browser that approved it. */
  readonly authentication: Authentication | undefined;
}

/** Undefined for a session that is not of an application. */
export async function findAppSession(ctx: Context, id: string): Promise<AppSession | undefined> {
  const [session] = await store.findSession(ctx.db.read, { id });
  if (!session?.client_id) return undefined;
  const { authenticated_at: startedAt, authenticated_by: method } = session;
  return {
    userId: session.user_id,
    clientId: session.client_id,
    scope: session.scope ?? everything,
    rotatedAt: session.rotated_at,
    authentication: startedAt === null || method === null ? undefined : { method, startedAt },
  };
}

/** The identity token of a session; undefined unless it is an application's that asked for one. */
export type IssueIdentityToken = (
  sessionId: string,
  tokens: TokenSet,
  nonce: string | null,
) => Promise<string | undefined>;

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
export async function repeatFirstTokens(
  ctx: Context,
  secret: Buffer,
  requestedScope: string | null,
): Promise<TokenSet> {
  const [session] = await store.findSession(ctx.db.read, { id: sessionIdOf(secret) });
  const status = session ? sessionStatus(session, ctx.clock()) : 'ended';
  if (status === 'disabled') throw accountDisabled();
  if (!session || status === 'ended' || session.generation !== 1) {
    throw new AuthError('invalid_grant', 'The tokens of this sign-in have already been used.', {
      detail: 'ended',
    });
  }
  return tokenSetOf(ctx, secret, { ...session, scope: requestedScope });
}

/** For the operator: whether an account has a session or key that was not revoked, be it expired or not. */
export const hasSessions = async (ctx: Context, userId: string): Promise<boolean> =>
  (await store.findUnrevokedSession(ctx.db.read, { user_id: userId })).length > 0;

/**
 * For the operator: how many active sessions, and how many keys, got their newest token, or used their cookie, before a moment
 * (milliseconds since 1970).
 */
export async function countUnchangedSince(
  ctx: Context,
  then: number,
): Promise<{ readonly sessions: number; readonly keys: number }> {
  const rows = await store.countUnchangedSince(ctx.db.read, { now: ctx.clock(), then });
  const count = (isKey: boolean) =>
    rows.filter(({ kind }) => (kind === 'key') === isKey).reduce((sum, row) => sum + Number(row.count), 0);
  return { sessions: count(false), keys: count(true) };
}

/**
 * Checks again, in a transaction that holds the account's lock, that the caller's session is still active.
 * @throws {AuthError} `invalid_token`
 */
export async function requireActiveSession(ctx: Context, tx: Executor, caller: Caller): Promise<void> {
  const [session] = await store.findSessionStatus(tx, { id: caller.sessionId });
  const status = session ? sessionStatus(session, ctx.clock()) : 'unknown';
  if (status !== 'active') throw invalidCredential(status);
}

/** The sessions of a user for the export of their personal data. */
export const exportSessions = (on: Executor, userId: string) => store.exportSessions(on, { user_id: userId });
