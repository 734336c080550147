// What other modules may do with accounts. The profile that `/me` shows is in profile.ts.

import { lockAccountRow } from '../../accounts/locks.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Context } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/primitives.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, accountDisabled, accountGone, conflict } from '../../platform/errors.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { type NewEvent, recordEvent } from '../../security-log/events/events.ts';
import { writeFeedEvent } from '../../security-log/feed-events/feed-events.ts';
import { lockAccountAs } from '../../sessions/sessions.ts';
import {
  cookieOf,
  type NewSession,
  type SignInOrigin,
  type StartedSession,
  startSession,
  tokensOf,
} from '../../sessions/starting.ts';
import { rememberBrowser } from '../known-browsers/known-browsers.ts';
import { createPersonalOrganization } from '../organizations/organizations.ts';
import { profileOf, type TaggedProfile, tagged } from './profile.ts';
import * as store from './store.ts';

/** The profile of a user. @throws {AuthError} `invalid_token` if the account is gone */
export async function getProfile(on: Executor, userId: string): Promise<TaggedProfile> {
  const [row] = await store.findUser(on, { id: userId });
  if (!row) throw accountGone();
  return tagged(row);
}

/**
 * Locks an account until the transaction ends, so that every other change to it waits. Lock the account
 * before any of its other rows (`accounts/locks.ts`).
 * @throws {AuthError} `invalid_token` if the account is gone
 */
export async function lockAccount(tx: Executor, userId: string) {
  const [account] = await lockAccountRow(tx, { id: userId });
  if (!account) throw accountGone();
  return account;
}

/**
 * The account of a proven address, locked; undefined if there is none yet. Refuses an address that cannot
 * sign in, so call it before anything is spent.
 * @throws {AuthError} `account_disabled`, `signup_disabled`
 */
export async function lockAccountToSignIn(ctx: Context, tx: Executor, email: string) {
  const emailKey = emailKeyOf(email);
  const [user] = await store.lockUserByAddress(tx, { email_key: emailKey });
  if (user && user.disabled_at !== null) throw accountDisabled();
  if (!user && !maySignUp(ctx, emailKey)) throw signupDisabled();
  return user?.id;
}

/**
 * Creates the account of a proven address that has none, in the language of the browser that asked for the
 * email. If another sign-up was first, it is that one's account, locked.
 * @throws {AuthError} `signup_disabled` if the address is reserved for the account that had it before
 */
export async function signUp(
  ctx: Context,
  tx: Executor,
  { email, language }: { email: string; language: string | null },
  client: ClientInfo,
): Promise<{ id: string; isNew: boolean }> {
  const createdId = await createAccount(ctx, tx, { email, locale: language }, { client });
  if (createdId !== undefined) return { id: createdId, isNew: true };
  const [other] = await store.lockUserByAddress(tx, { email_key: emailKeyOf(email) });
  if (!other) throw signupDisabled();
  return { id: other.id, isNew: false };
}

/**
 * For the operator: the account of an address, locked. An existing one is not changed. Otherwise one is
 * created, even if sign-up is closed.
 * @throws {AuthError} `signup_disabled` for a domain that is not allowed; `conflict` for an address that is
 * reserved or was taken meanwhile, and for a WebAuthn user handle that is not, or cannot be, the account's
 */
export async function importAccount(ctx: Context, tx: Executor, account: NewAccount) {
  const { email, name, userHandle } = account;
  const email_key = emailKeyOf(email);
  const [existing] = await store.lockUserByAddress(tx, { email_key });
  const [owner] =
    userHandle === undefined ? [] : await store.findUserByHandle(tx, { webauthn_user_handle: userHandle });
  if (existing) {
    if (userHandle !== undefined && owner?.id !== existing.id)
      throw conflict(
        'user_handle: the account exists with another one, so passkeys for this one cannot sign in to it.',
      );
    return { id: existing.id, isNew: false, hasOtherName: name !== undefined && name !== existing.name };
  }
  if (owner) throw conflict('user_handle: belongs to another account.');
  requireAllowedDomain(ctx, email);
  const id = await createAccount(ctx, tx, account, { detail: { by: 'operator' } });
  if (id === undefined) {
    throw conflict('The address was taken just now, or is reserved for the account that had it before.');
  }
  return { id, isNew: true, hasOtherName: false };
}

/** Refuses an address of a domain that is not allowed. @throws {AuthError} `signup_disabled` */
export function requireAllowedDomain(ctx: Context, email: string): void {
  if (isAddressAllowed(ctx.config.signup, emailKeyOf(email))) return;
  throw new AuthError('signup_disabled', 'Email addresses of this domain are not allowed here.');
}

/** Whether another account has this address, or can still undo changing it. */
export async function isEmailTaken(ctx: Context, on: Executor, email: string, userId: string) {
  const email_key = emailKeyOf(email);
  const [owner] = await store.findUserByEmail(on, { email_key });
  const reserved = await store.findReservedEmail(on, { email_key, now: ctx.clock() });
  return [...(owner ? [owner.id] : []), ...reserved.map((row) => row.user_id)].some((id) => id !== userId);
}

/** Replaces the address of a locked account; undefined if another account has the new one. */
export async function replaceEmail(ctx: Context, tx: Executor, userId: string, email: string) {
  const [row] = await store.replaceEmail(tx, {
    id: userId,
    email,
    email_key: emailKeyOf(email),
    now: ctx.clock(),
  });
  return row && profileOf(row);
}

/**
 * Starts a new session epoch, which ends every session of an account and every device
 * authorization that is approved but not redeemed. Returns false if the account is gone. Call
 * `announceEndOfAll` at the end of the transaction.
 */
export async function endAllSessions(tx: Executor, userId: string): Promise<boolean> {
  return (await store.endAllSessions(tx, { id: userId })).length > 0;
}

/** Announces to services that all sessions of an account have ended. Call it last. */
export const announceEndOfAll = (ctx: Context, tx: Executor, userId: string): Promise<void> =>
  writeFeedEvent(ctx, tx, { type: 'session-revoked', userId });

/**
 * Ends every session of an account. `by` is one of them, `operator`, or the id of a service.
 * @throws {AuthError} `invalid_token` if the session in `by` has ended
 */
export const revokeAllSessions = (
  ctx: Context,
  userId: string,
  by: { readonly sessionId: string; readonly client: ClientInfo } | string,
): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    if (typeof by !== 'string') await lockAccountAs(ctx, tx, { userId, sessionId: by.sessionId });
    if (!(await endAllSessions(tx, userId))) return;
    const cause = typeof by === 'string' ? { detail: { by } } : by;
    await recordEvent(ctx, tx, { type: 'all_sessions_revoked', userId, ...cause });
    await announceEndOfAll(ctx, tx, userId);
  });

/**
 * Deletes a locked account with all rows that belong to it, and announces the deletion to services. Mails,
 * magic links and organizations do not belong to an account. Call it last.
 */
export async function deleteUser(ctx: Context, tx: Executor, userId: string): Promise<void> {
  await store.deleteUser(tx, { id: userId });
  await writeFeedEvent(ctx, tx, { type: 'account-purged', userId });
}

/** An account with everything that its row holds; undefined if it is gone. */
export const findAccount = async (on: Executor, userId: string) =>
  (await store.findUser(on, { id: userId })).at(0);

/** A browser session that was just started, with its account if a cookie carries it. */
export interface BrowserSession extends StartedSession {
  readonly account: Awaited<ReturnType<typeof findAccount>>;
}

/**
 * Starts a browser session of a locked account, and reads the account that is answered with a cookie: a read after the commit could
 * fail, and would then lose the cookie of a sign-in that cannot be repeated.
 * @throws {AuthError} like `startSession`
 */
export async function startBrowserSession(
  ctx: Context,
  tx: Executor,
  { inCookie, ...session }: Omit<NewSession, 'kind'> & SignInOrigin,
): Promise<BrowserSession> {
  // Pipelined.
  const [started, account] = await Promise.all([
    startSession(ctx, tx, { ...session, kind: 'browser' }),
    inCookie ? findAccount(tx, session.userId) : undefined,
  ]);
  return { ...started, account };
}

interface SignInCall extends Record<'sessionCookie' | 'knownBrowserCookie', string | undefined> {
  readonly query: { readonly session?: 'cookie' | undefined };
  readonly client: ClientInfo;
}

/**
 * Signs in and builds the response: tokens or, in cookie mode, the profile, because the credential goes into
 * the cookie only. Cookie mode also renews the cookie by which the service later recognizes the browser.
 */
export async function signInResponse(
  ctx: Context,
  { query, client, sessionCookie, knownBrowserCookie }: SignInCall,
  signIn: (origin: SignInOrigin) => Promise<BrowserSession>,
) {
  const inCookie = query.session === 'cookie';
  const replacesCookie = inCookie ? sessionCookie : undefined;
  const { account, ...session } = await signIn({ client, inCookie, replacesCookie });
  if (!account) return { body: tokensOf(ctx, session) };
  const signedIn = { emailKey: account.email_key, userId: session.userId, sessionId: session.id };
  const knownBrowser = rememberBrowser(ctx, knownBrowserCookie, signedIn);
  return { body: { user: profileOf(account) }, cookie: { value: cookieOf(ctx, session), knownBrowser } };
}

/** For the operator: the id of the account with an address. @throws {AuthError} `not_found` */
export async function findAccountByEmail(ctx: Context, email: string): Promise<string> {
  const account = await findAccountOf(ctx.db.read, email);
  if (!account) throw noSuchAccount();
  return account.id;
}

/** Whether the settings allow an account to be created with an address: always, never, or by its domain. */
export const maySignUp = ({ config: { signup } }: Context, emailKey: string): boolean =>
  signup !== 'closed' && isAddressAllowed(signup, emailKey);

export const noSuchAccount = () => new AuthError('not_found', 'There is no account with this address.');

/** For the operator: the account of an address, locked. @throws {AuthError} `not_found` */
export async function lockAccountOf(tx: Executor, email: string): Promise<{ readonly id: string }> {
  const [account] = await store.lockUserByAddress(tx, { email_key: emailKeyOf(email) });
  if (!account) throw noSuchAccount();
  return account;
}

/** The account that an address belongs to now; undefined without one. */
export const findAccountOf = async (on: Executor, email: string) =>
  (await store.findUserByEmail(on, { email_key: emailKeyOf(email) })).at(0);

/** `changeDisabled` for the operator, by address. @throws {AuthError} `not_found` */
export const setDisabled = async (ctx: Context, email: string, disabled: boolean): Promise<boolean> =>
  changeDisabled(ctx, await findAccountByEmail(ctx, email), disabled, 'operator');

/**
 * Disables or enables an account, for `operator` or a service (its id). Disabling ends all
 * sessions of the account; enabling does not bring them back. Returns whether anything changed;
 * nothing does if the account is gone.
 */
export const changeDisabled = (ctx: Context, userId: string, disabled: boolean, by: string) =>
  ctx.db.transaction(async (tx) => {
    const [changed] = disabled
      ? await store.disableUser(tx, { id: userId, now: ctx.clock() })
      : await store.enableUser(tx, { id: userId });
    if (!changed) return false;
    const state = disabled ? 'disabled' : 'enabled';
    await recordEvent(ctx, tx, { type: `account_${state}`, userId, detail: { by } });
    await writeFeedEvent(ctx, tx, { type: `account-${state}`, userId });
    return true;
  });

/** The length of a WebAuthn user handle in bytes. @see WebAuthn Level 3 section 14.6.1 */
const userHandleBytes = 64;

/** Whether the sign-up setting lets an existing account change to an address: only domains restrict that. */
const isAddressAllowed = (signup: Config['signup'], emailKey: string): boolean =>
  typeof signup === 'string' || signup.includes(emailKey.slice(emailKey.lastIndexOf('@') + 1));

const signupDisabled = () =>
  new AuthError('signup_disabled', 'No account can be created with this email address.');

interface NewAccount {
  readonly email: string;
  /** Default: the part of the address before the @. */
  readonly name?: string | undefined;
  readonly locale?: string | null | undefined;
  /** The WebAuthn user handle in base64url. Default: a random one. */
  readonly userHandle?: string | undefined;
}

/** Creates an account; undefined if the address is taken or reserved. `cause` goes into its security log. */
async function createAccount(
  ctx: Context,
  tx: Executor,
  { email, name = email.slice(0, email.lastIndexOf('@')), locale = null, userHandle }: NewAccount,
  cause: Pick<NewEvent, 'client' | 'detail'>,
): Promise<string | undefined> {
  const [created] = await store.insertUser(tx, {
    id: newId('usr_', ctx.random),
    email,
    email_key: emailKeyOf(email),
    name,
    locale,
    webauthn_user_handle: userHandle ?? ctx.random(userHandleBytes).toString('base64url'),
    now: ctx.clock(),
  });
  if (!created) return undefined;
  await createPersonalOrganization(ctx, tx, { id: created.id, name });
  await recordEvent(ctx, tx, { type: 'account_created', userId: created.id, ...cause });
  return created.id;
}
