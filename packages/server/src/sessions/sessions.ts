// The public functions of this module. The rest is in the file named after its topic: authentication.ts (the caller
// behind a credential), refresh.ts (spending a refresh token), revocation.ts (what ends a session), keys.ts (the sessions of
// programs), runs/ (sessions within others), policy.ts (what a caller's session must be), listing.ts.

import type { AuthorizationDetails } from '@latchkey/contract/authorization-details';
import { everything } from '@latchkey/contract/scopes';
import type { IssuedToken, TokenSet } from '@latchkey/contract/tokens';
import type { Caller, CallingService, Context } from '../platform/context.ts';
import type { Executor } from '../platform/database/executor.ts';
import { lockAccountRow } from '../platform/database/locks.ts';
import type { PageRequest } from '../platform/database/pagination.ts';
import type { Tables } from '../platform/database/schema.ts';
import { AuthError, accountDisabled, invalidCredential } from '../platform/errors.ts';
import { type ClientInfo, noClient } from '../platform/values/client-info.ts';
import { recordEvent } from '../security-log/events/events.ts';
import { holdAccess } from '../services/scopes/scopes.ts';
import type { InheritedAccess } from '../services/service-keys/service-keys.ts';
import { findServiceToken, type ServiceToken } from '../services/service-tokens/service-tokens.ts';
import { announceEnd } from './announcements.ts';
import { type Authentication, authenticationClaims } from './authentication-claims.ts';
import { insertKey, type NewKey, recordNewKey, recordRemovedKey } from './keys.ts';
import { recordUse } from './last-use.ts';
import { listSessions } from './listing.ts';
import { isSignedInWithin, requireSignInWithin } from './policy.ts';
import {
  endRunsOfService as endServiceRuns,
  endSignedOut,
  endStolenSession,
  revokeKeySession,
  revokeOwnSession,
} from './revocation.ts';
import {
  endReplacedRun,
  findPlace,
  insertRun,
  type NewRun,
  recordEndedRun,
  recordStartedRun,
  requireRoom,
} from './runs/starting.ts';
import { moveRuns } from './runs/store.ts';
import { findSubject, type RunSubject } from './runs/subject.ts';
import { sessionStatus } from './session-status.ts';
import {
  endPreviousSession,
  findPreviousSession,
  insertSession,
  type NewSession,
  needsNotice,
  recordReplacement,
  recordSignIn,
  type SignInOrigin,
  type StartedSession,
  sendSignInNotice,
} from './starting.ts';
import * as store from './store.ts';
import {
  keyOf,
  parseDetails,
  type ReadToken,
  readToken,
  runTokensOf,
  sessionCookieOf,
  sessionIdOf,
  tokenSetOf,
  withinOf,
} from './tokens.ts';

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
  if (isNoticeDue) await sendSignInNotice(ctx, tx, session, started.id);
  await recordSignIn(ctx, tx, session, started.id);
  if (isReplaced) {
    await moveRuns(tx, { from: previousId, to: started.id, now: ctx.clock() });
    await recordReplacement(ctx, tx, session, previousId, started.id);
  }
  return started;
}

export type { SignInOrigin, StartedSession };
export { isSignedInWithin, requireSignInWithin };

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

export { authenticationClaims };

/** Ends the session of an application for its user, who signs out. */
export const endAppSession = (
  ctx: Context,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
  client: ClientInfo,
): Promise<void> => endSignedOut(ctx, userId, sessionId, client);

/** Ends the caller's own session; succeeds if another request has already ended it. */
export const endOwnSession = (ctx: Context, caller: Caller, client: ClientInfo): Promise<void> =>
  revokeOwnSession(ctx, caller, client);

/** Ends a session whose authorization code was used a second time, and notifies the owner. */
export const endReplayedSession = (
  ctx: Context,
  session: { userId: string; sessionId: string; client: ClientInfo },
): Promise<void> => endStolenSession(ctx, session, 'code_replayed');

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

/** For the operator: one page of the active sessions of an account, newest first. */
export const listSessionsOf = (ctx: Context, userId: string, page: PageRequest) =>
  listSessions(ctx, { userId }, page);

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

/**
 * Ends sessions of a locked account that its owner did not start, and those that came from them, whatever state they are
 * in. From then on no sign-in counts as familiar because of them. Returns those that were active, for `announceEnded`.
 */
export async function disownSessions(
  ctx: Context,
  tx: Executor,
  { userId, sessionIds }: { readonly userId: string; readonly sessionIds: readonly string[] },
): Promise<EndedSession[]> {
  const disowned = { user_id: userId, ids: JSON.stringify(sessionIds), now: ctx.clock() };
  const active = await store.listActive(tx, disowned);
  await store.disownSessions(tx, disowned);
  return active;
}

type EndedSession = Awaited<ReturnType<typeof store.listActive>>[number];

/** Announces to services that these sessions and keys have ended, in the transaction that ended them. Call it last. */
export async function announceEnded(
  ctx: Context,
  tx: Executor,
  userId: string,
  ended: readonly EndedSession[],
): Promise<void> {
  const ids = new Set(ended.map(({ id }) => id));
  for (const session of ended) {
    // What is within another one that ended needs no announcement of its own.
    if (!ids.has(session.within_session_id ?? '')) await announceEnd(ctx, tx, userId, session);
  }
}

/** Up to `limit` accounts with active sessions and keys that have this access. */
export const listAccessHolders = async (
  ctx: Context,
  tx: Executor,
  { scopes, resources }: InheritedAccess,
  limit: number,
): Promise<string[]> => {
  const access = { scopes: JSON.stringify(scopes), resources: JSON.stringify(resources) };
  const rows = await store.listAccessHolders(tx, { ...access, now: ctx.clock(), limit });
  return rows.map((row) => row.user_id);
};

/** Ends every session and key of locked accounts that has this access. Each is recorded and announced to services, so call it last. */
export async function endSessionsWithAccess(
  ctx: Context,
  tx: Executor,
  { scopes, resources }: InheritedAccess,
  userIds: readonly string[],
): Promise<void> {
  const ended = await store.endSessionsWithAccess(tx, {
    scopes: JSON.stringify(scopes),
    resources: JSON.stringify(resources),
    user_ids: JSON.stringify(userIds),
    now: ctx.clock(),
  });
  const detail = { reason: 'taken_over' };
  for (const { user_id: userId, ...row } of ended) {
    if (row.kind === 'key')
      await recordRemovedKey(ctx, tx, { userId, by: undefined, client: noClient }, row, detail);
    else if (row.kind === 'run') await recordEndedRun(ctx, tx, { userId }, row, detail);
    else await recordEvent(ctx, tx, { type: 'session_revoked', userId, sessionId: row.id, detail });
    await announceEnd(ctx, tx, userId, row);
  }
}

/** Times are milliseconds since 1970. */
export interface StartedKey {
  readonly id: string;
  /** The key itself. It is not stored. */
  readonly key: string;
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
  return { id: row.id, key: keyOf(ctx, row.secret, expiresAt), createdAt, expiresAt };
}

/**
 * Ends a key of the caller's account at once, on every node, and notifies the owner.
 * @throws {AuthError} `not_found`, also for another user's key and for a session that is not a key
 */
export const revokeKey = (ctx: Context, caller: Caller, id: string, client: ClientInfo): Promise<void> =>
  revokeKeySession(ctx, caller, id, client);

/** What an access token, key or session cookie stands for; undefined unless it would be accepted now. */
export const findRunSubject = (
  ctx: Context,
  presented: { readonly type: 'bearer' | 'cookie'; readonly value: string },
): Promise<RunSubject | undefined> => findSubject(ctx, presented);

export type { NewRun, RunSubject };

/**
 * Makes a run within the session or key of its subject, or in place of it, and records it. Races with everything that ends
 * one of those are decided by the insertion, which holds only while all of them are active.
 * @throws {AuthError} `invalid_request` if one of them has ended; `invalid_scope`, `invalid_target` if a service has
 * withdrawn what the run would hold; `conflict` if there are too many runs, or it is too deep
 */
export const startRun = (
  ctx: Context,
  run: NewRun,
): Promise<Pick<IssuedToken, 'access_token' | 'expires_in' | 'refresh_token'>> =>
  ctx.db.transaction(async (tx) => {
    const { user_id: userId } = run.subject.session;
    const { service, client, scope, resource } = run;
    await lockAccountRow(tx, { id: userId });
    const place = await findPlace(ctx, tx, run);
    await holdAccess(tx, { scope, resource });
    if (run.isReplacement) await endReplacedRun(ctx, tx, run);
    await requireRoom(ctx, tx, place);
    const inserted = await insertRun(ctx, tx, run, place);
    await recordStartedRun(ctx, tx, { userId, client }, { ...inserted, scope, resource });
    return runTokensOf(ctx, inserted, service !== undefined);
  });

/** Locks the accounts with active runs that a service acts in, and returns what ends these runs. */
export const endRunsOfService = (
  ctx: Context,
  tx: Executor,
  serviceId: string,
): Promise<() => Promise<void>> => endServiceRuns(ctx, tx, serviceId);

/** A token that would be accepted now. Times are milliseconds since 1970. */
export interface ActiveToken {
  readonly use: 'access_token' | 'refresh_token' | 'key';
  /** The id of the session or key. */
  readonly sessionId: string;
  readonly userId: string;
  readonly kind: Caller['kind'];
  /** Scope names separated by spaces, or `*` for everything. */
  readonly scope: string;
  /** The only service that accepts the token, if any. */
  readonly resource: string | null;
  /** What it allows in detail, in terms of the services that read it. */
  readonly authorizationDetails: AuthorizationDetails | null;
  /** The services that act for the user, the last one first. */
  readonly actors: readonly string[];
  /** The application that it was issued to, if any. */
  readonly clientId: string | null;
  /** The ids of a run's ancestors, nearest first. Empty for logins and keys. */
  readonly within: readonly string[];
  readonly method: Tables['sessions']['method'];
  readonly startedAt: number;
  readonly issuedAt: number;
  readonly endsAt: number;
}

/** A token of a service that acts for itself. */
export interface ActiveServiceToken extends ServiceToken {
  readonly use: 'service_token';
}

/**
 * The session and lifetime of an access token, refresh token or key that would be accepted now, or the token of a service
 * that acts for itself; undefined for any other string.
 * Does not spend the token. A malformed token costs no query. A token that is bound to a resource is only active for the
 * service with that resource.
 */
export async function findActiveToken(
  ctx: Context,
  token: string,
  service: CallingService,
): Promise<ActiveToken | ActiveServiceToken | undefined> {
  const now = ctx.clock();
  const read = readToken(ctx, token);
  if (!read) return undefined;
  const { use, handle, sessionId } = read;
  const [session] = await store.findSession(ctx.db.read, { id: sessionId });
  if (!session) return findActiveServiceToken(ctx, read, service);
  if (session.resource !== null && session.resource !== service.resource) return undefined;
  const isAccess = use !== 'refresh_token';
  if (!isAccess && handle.value !== session.generation) return undefined;
  const sessionEndsAt = isAccess ? session.expires_at : session.idle_expires_at;
  if (sessionStatus(session, now, sessionEndsAt) !== 'active') return undefined;
  if (isAccess) recordUse(ctx, session, now);
  return {
    use,
    sessionId: session.id,
    userId: session.user_id,
    kind: session.kind,
    scope: session.scope ?? everything,
    resource: session.resource,
    authorizationDetails: parseDetails(session.authorization_details),
    actors: session.actor?.split(' ') ?? [],
    clientId: session.client_id,
    within: session.path === null ? [] : withinOf(session.path),
    method: session.method,
    startedAt: session.created_at,
    issuedAt: isAccess ? issuedAt(ctx, handle.value, session) : session.rotated_at,
    endsAt: Math.min(
      isAccess ? Math.min(handle.value, session.expires_at) : session.idle_expires_at,
      session.path_ends_at ?? Number.POSITIVE_INFINITY,
    ),
  };
}

async function findActiveServiceToken(
  ctx: Context,
  { use, handle }: ReadToken,
  service: CallingService,
): Promise<ActiveServiceToken | undefined> {
  const found = use === 'access_token' ? await findServiceToken(ctx, handle.subject) : undefined;
  const isMeantFor = found?.resource === service.resource && found?.resourceServiceId === service.id;
  return found && isMeantFor ? { ...found, use: 'service_token' } : undefined;
}

/** An access token carries only its expiry, so its issue time is one lifetime earlier, within its session's own times. */
const issuedAt = (
  ctx: Context,
  expiresAt: number,
  session: { created_at: number; rotated_at: number; token_ttl_seconds: number | null },
): number => {
  const ttlSeconds = session.token_ttl_seconds ?? ctx.config.accessTokenTtlSeconds;
  return Math.min(Math.max(expiresAt - ttlSeconds * 1000, session.created_at), session.rotated_at);
};

/** The sessions of a user for the export of their personal data. */
export const exportSessions = (on: Executor, userId: string) => store.exportSessions(on, { user_id: userId });
