import type { Profile, ProfilePatch } from '@latchkey/contract/account';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Caller, Context } from '../../platform/context.ts';
import { newId } from '../../platform/crypto/random.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { lockAccountRow } from '../../platform/database/locks.ts';
import { AuthError, invalidCredential } from '../../platform/errors.ts';
import { accountChange } from '../../platform/rate-limits/by-client.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { ifMatchHolds } from '../../platform/values/entity-tag.ts';
import {
  type EventDetail,
  recordChange,
  recordEvent,
  recordingRateLimits,
} from '../../security-log/events/events.ts';
import { cookieOf, type StartedSession, tokensOf } from '../../sessions/sessions.ts';
import { rememberBrowser } from '../known-browsers/known-browsers.ts';
import { createPersonalOrganization } from '../organizations/organizations.ts';
import * as store from './store.ts';

/** Random bytes of the WebAuthn user handle. @see WebAuthn Level 3 section 14.6.1 */
const userHandleBytes = 64;

/** The address with ASCII letters in lower case: what decides whether two addresses are one. */
export const emailKeyOf = (email: string): string =>
  email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

type UserRow = Awaited<ReturnType<typeof store.findUser>>[number];

const profileOf = (row: UserRow): Profile => ({
  id: row.id,
  email: row.email,
  email_verified: row.email_verified === 1,
  name: row.name,
  avatar_url: row.avatar_url,
  locale: row.locale,
  time_zone: row.time_zone,
  created_at: new Date(row.created_at).toISOString(),
  updated_at: new Date(row.updated_at).toISOString(),
});

/** A profile and the strong entity tag of this state of it. */
export interface TaggedProfile {
  readonly profile: Profile;
  readonly etag: string;
}

const tagged = (row: UserRow): TaggedProfile => ({
  profile: profileOf(row),
  etag: `"${row.id}.${row.revision}"`,
});

const accountGone = () => invalidCredential('gone');

/** The user's profile, as a transaction or everyone sees it. */
export async function getProfile(on: Executor, userId: string): Promise<TaggedProfile> {
  const [row] = await store.findUser(on, { id: userId });
  if (!row) throw accountGone();
  return tagged(row);
}

/**
 * Applies a JSON merge patch to the profile. A patch that changes nothing leaves `updated_at` alone.
 * @throws {AuthError} `precondition_failed` when `ifMatch` does not hold
 * @see RFC 7396, RFC 9110 section 13.1.1
 */
export const updateProfile = (
  ctx: Context,
  { userId, sessionId }: Caller,
  patch: ProfilePatch,
  ifMatch: string | null,
  client: ClientInfo,
): Promise<TaggedProfile> =>
  ctx.db.transaction(async (tx) => {
    const [row] = await store.lockUser(tx, { id: userId });
    if (!row) throw accountGone();
    if (ifMatch !== null && !ifMatchHolds(ifMatch, tagged(row).etag)) {
      throw new AuthError('precondition_failed', 'If-Match: the profile has been changed since.');
    }
    const next = {
      name: patch.name ?? row.name,
      avatar_url: patch.avatar_url === undefined ? row.avatar_url : patch.avatar_url,
      locale: patch.locale === undefined ? row.locale : patch.locale,
      time_zone: patch.time_zone === undefined ? row.time_zone : patch.time_zone,
    };
    const changed = (Object.keys(next) as (keyof typeof next)[]).filter((key) => next[key] !== row[key]);
    if (changed.length === 0) return tagged(row);
    const [updated] = await store.updateProfile(tx, { id: userId, ...next, now: ctx.clock() });
    if (!updated) throw new Error('a locked row is gone');
    const detail = { fields: changed.join(' ') };
    await recordChange(ctx, tx, { type: 'profile_changed', userId, sessionId, client, detail }, fieldsOfBoth);
    return tagged(updated);
  });

/** The fields that either of two changes of a profile names. */
const fieldsOfBoth = ({ fields: earlier = '' }: EventDetail, { fields: later = '' }: EventDetail) => ({
  fields: [...new Set([...earlier.split(' '), ...later.split(' ')])].join(' '),
});

/**
 * Counts one change of an account and makes it; a change that is refused does not count. `headers` tell where the
 * caller stands with the limit.
 * @throws {AuthError} `rate_limited`; what `change` throws
 */
export async function limitingChanges<Changed>(
  ctx: Context,
  caller: Caller,
  client: ClientInfo,
  change: () => Promise<Changed>,
): Promise<{ changed: Changed; headers: Record<string, string> }> {
  const counted = await recordingRateLimits(ctx, { ...caller, client }, () =>
    ctx.limiter.take(accountChange(caller.userId)),
  );
  try {
    return { changed: await change(), headers: counted.headers };
  } catch (error) {
    await counted.refund();
    throw error;
  }
}

/** Whether a new account may be made for this address. */
function maySignUp(ctx: Context, email: string): boolean {
  const { signup } = ctx.config;
  if (signup === 'open') return true;
  if (signup === 'closed') return false;
  return signup.includes(emailKeyOf(email.slice(email.lastIndexOf('@') + 1)));
}

/**
 * Refuses, before anything is spent, a person who proved an address but may not log in with it.
 * @throws {AuthError} `account_disabled`, `signup_disabled`
 */
export async function requireSignupAllowed(ctx: Context, tx: Executor, email: string): Promise<void> {
  const [user] = await store.findUserByEmail(tx, { email_key: emailKeyOf(email) });
  if (user && user.disabled_at !== null) {
    throw new AuthError('account_disabled', 'This account has been disabled.');
  }
  if (!user && !maySignUp(ctx, email)) throw signupRefused();
}

const signupRefused = () =>
  new AuthError('signup_disabled', 'New accounts cannot be made with this address.');

/**
 * The account of a proven address, locked; a new one, with its personal organization, if there is none.
 * @throws {AuthError} `signup_disabled` where the address is kept for the account that had it
 */
export async function findOrCreateAccount(
  ctx: Context,
  tx: Executor,
  email: string,
  client: ClientInfo,
): Promise<{ id: string; isNew: boolean }> {
  const email_key = emailKeyOf(email);
  const [existing] = await store.lockUserByAddress(tx, { email_key });
  if (existing) return { id: existing.id, isNew: false };
  const name = email.slice(0, email.lastIndexOf('@'));
  const [created] = await store.insertUser(tx, {
    id: newId('usr_', ctx.random),
    email,
    email_key,
    name,
    webauthn_user_handle: ctx.random(userHandleBytes).toString('base64url'),
    now: ctx.clock(),
  });
  if (created) {
    await createPersonalOrganization(ctx, tx, { id: created.id, name });
    await recordEvent(ctx, tx, { type: 'account_created', userId: created.id, client });
    return { id: created.id, isNew: true };
  }
  const [other] = await store.lockUserByAddress(tx, { email_key });
  if (!other) throw signupRefused();
  return { id: other.id, isNew: false };
}

/**
 * Refuses a new address for an account where only addresses of some domains make accounts.
 * @throws {AuthError} `signup_disabled`
 */
export function requireAllowedDomain(ctx: Context, email: string): void {
  if (typeof ctx.config.signup === 'string' || maySignUp(ctx, email)) return;
  throw new AuthError('signup_disabled', 'Addresses of this domain cannot be used here.');
}

/** Whether another account has this address, or can have it back. */
export async function isEmailTaken(
  ctx: Context,
  on: Executor,
  email: string,
  userId: string,
): Promise<boolean> {
  const email_key = emailKeyOf(email);
  const [owner] = await store.findUserByEmail(on, { email_key });
  const kept = await store.findReservedEmail(on, { email_key, now: ctx.clock() });
  return [...(owner ? [owner.id] : []), ...kept.map((row) => row.user_id)].some((id) => id !== userId);
}

/**
 * Locks an account until the transaction ends: everything else that changes it waits. It comes before every other row
 * of the account (`database/locks.ts`).
 * @throws {AuthError} `invalid_token` when it is gone
 */
export async function lockAccount(tx: Executor, userId: string) {
  const [account] = await lockAccountRow(tx, { id: userId });
  if (!account) throw accountGone();
  return account;
}

/** Gives a locked account another address; undefined where another account has it. */
export async function replaceEmail(
  ctx: Context,
  tx: Executor,
  userId: string,
  email: string,
): Promise<Profile | undefined> {
  const [row] = await store.replaceEmail(tx, {
    id: userId,
    email,
    email_key: emailKeyOf(email),
    now: ctx.clock(),
  });
  return row && profileOf(row);
}

/**
 * The account of an address, for the operator.
 * @throws {AuthError} `not_found`
 */
export async function findAccountByEmail(ctx: Context, email: string): Promise<string> {
  const [user] = await store.findUserByEmail(ctx.db.read, { email_key: emailKeyOf(email) });
  if (!user) throw new AuthError('not_found', 'There is no account with this address.');
  return user.id;
}

/** How many accounts are read at once where all of them are gone through. */
const accountPageSize = 500;

/** All accounts there are, one after the other, for the operator. */
export async function* allAccounts(ctx: Context, pageSize = accountPageSize): AsyncGenerator<string> {
  let after = '';
  for (;;) {
    const page = await store.listUserIds(ctx.db.read, { after, limit: pageSize });
    for (const { id } of page) yield id;
    if (page.length < pageSize) return;
    after = page.at(-1)!.id;
  }
}

/**
 * Shuts or reopens an account, for the operator. Shutting ends every login for good; whoever is let in again
 * logs in anew. Says whether anything changed.
 * @throws {AuthError} `not_found`
 */
export async function setDisabled(ctx: Context, email: string, disabled: boolean): Promise<boolean> {
  await findAccountByEmail(ctx, email);
  const email_key = emailKeyOf(email);
  return ctx.db.transaction(async (tx) => {
    const [changed] = disabled
      ? await store.disableUser(tx, { email_key, now: ctx.clock() })
      : await store.enableUser(tx, { email_key });
    if (!changed) return false;
    // Of the row that was changed: another account may have got the address since it was looked up.
    await recordEvent(ctx, tx, {
      type: disabled ? 'account_disabled' : 'account_enabled',
      userId: changed.id,
    });
    return true;
  });
}

/**
 * What a login hands out: its tokens, or in cookie mode the profile, the credential going into the cookie only. There
 * the browser also gets a new cookie in the place of `knownBrowserCookie`, by which it is known again.
 */
export async function signInResponse(
  ctx: Context,
  session: StartedSession,
  inCookie: boolean,
  knownBrowserCookie: string | undefined,
): Promise<
  { body: TokenSet } | { body: { user: Profile }; cookie: { value: string; knownBrowser: string } }
> {
  if (!inCookie) return { body: tokensOf(ctx, session) };
  const { profile } = await getProfile(ctx.db.read, session.userId);
  const knownBrowser = rememberBrowser(ctx, knownBrowserCookie, {
    emailKey: emailKeyOf(profile.email),
    userId: session.userId,
    sessionId: session.id,
  });
  return { body: { user: profile }, cookie: { value: cookieOf(ctx, session), knownBrowser } };
}
