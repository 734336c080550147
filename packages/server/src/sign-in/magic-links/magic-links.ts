import { normalizeEmailCode, normalizeUserCode } from '@latchkey/contract/codes';
import type { Language } from '@latchkey/contract/languages';
import {
  type BrowserSession,
  findAccountOf,
  importAccount,
  lockAccount,
  lockAccountOf,
  lockAccountToSignIn,
  signUp,
  startBrowserSession,
} from '../../identity/account/account.ts';
import {
  mailByKnownBrowser,
  mailLimits,
  recognizeBrowser,
} from '../../identity/known-browsers/known-browsers.ts';
import type { Context } from '../../platform/context.ts';
import { sameCode } from '../../platform/crypto/codes.ts';
import { mintHandle, readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { accountDisabled, invalidGrant } from '../../platform/errors.ts';
import { mailRow } from '../../platform/mail/outbox.ts';
import { byClient, refundingOnError } from '../../platform/rate-limits/limiter.ts';
import { expiresIn } from '../../platform/timers.ts';
import { type ClientInfo, noClient } from '../../platform/values/client-address.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { once } from '../../platform/values/once.ts';
import { recordEvent } from '../../security-log/events/events.ts';
import { notify } from '../../security-log/notices/notices.ts';
import type { SignInOrigin } from '../../sessions/starting.ts';
import { countingFailures, recordFailure } from '../failures/failures.ts';
import { maxCodeAttempts } from '../settings.ts';
import { emailCodeOf, signInTemplate } from './mail.ts';
import * as store from './store.ts';

/** Where a request for a mail comes from, the language it prefers, and the cookie by which its browser may be known. */
interface RequestOrigin {
  readonly client: ClientInfo;
  readonly language: Language | undefined;
  readonly knownBrowserCookie: string | undefined;
}

/**
 * Sends a sign-in mail. The response and its timing do not depend on the account: it is looked up only for a
 * browser that signed in to it before, whose rate limit strangers cannot exhaust.
 * @throws {AuthError} `rate_limited`
 */
export async function requestMagicLink(ctx: Context, email: string, origin: RequestOrigin) {
  const emailKey = emailKeyOf(email);
  const browser = await recognizeBrowser(ctx, origin.knownBrowserCookie, emailKey);
  const limits = await ctx.limiter.take(
    ...(browser === undefined ? mailLimits(emailKey, origin.client) : mailByKnownBrowser(emailKey, browser)),
  );
  const { handle, row: link } = newLink(ctx, email, origin);
  const mail = mailRow(ctx, {
    template: signInTemplate,
    recipient: email,
    recipientKey: emailKey,
    reference: link.id,
    expiresAt: link.expires_at,
    isUrgent: true,
  });
  await refundingOnError(limits, () => store.insertMagicLinkAndMail(ctx.db, link, mail));
  ctx.wakeMailWorker();
  const body = {
    status: 'sent' as const,
    expires_in: ctx.config.magicLinkTtlSeconds,
    request: mintHandle(ctx.keys, 'magicLinkRequest', handle),
  };
  return { body, headers: limits.headers };
}

function newLink(
  ctx: Context,
  email: string,
  { client, language }: Omit<RequestOrigin, 'knownBrowserCookie'>,
) {
  const subject = ctx.random(subjectBytes);
  const now = ctx.clock();
  const row = {
    id: subject.toString('base64url'),
    email,
    email_key: emailKeyOf(email),
    created_at: now,
    expires_at: now + ctx.config.magicLinkTtlSeconds * 1000,
    ip_address: client.ipAddress,
    user_agent: client.userAgent,
    language: language ?? null,
  };
  return { row, handle: { subject, value: row.expires_at } };
}

const refused = invalidGrant('The link or code is unknown, has expired or was already used.');

type MagicLink = Awaited<ReturnType<typeof store.findMagicLink>>[number];

/**
 * Says how long a link still works, so that a page need not ask a person for their address in vain. Changes nothing.
 * @throws {AuthError} `invalid_grant`, `rate_limited`
 */
export async function previewMagicLink(ctx: Context, token: string, client: ClientInfo) {
  const handle = readHandle(ctx.keys, 'magicLink', token);
  if (!handle) throw refused('malformed');
  const { headers } = await ctx.limiter.take(byClient('link_logins', client));
  const [link] = await store.findMagicLink(ctx.db.read, { id: handle.subject.toString('base64url') });
  const now = ctx.clock();
  if (!link || !isUsable(link, now)) throw refused('ended');
  return { body: { expires_in: expiresIn(link.expires_at, now) }, headers };
}

const isUsable = (link: Pick<MagicLink, 'spent_at' | 'expires_at'>, now: number): boolean =>
  link.spent_at === null && link.expires_at > now;

/**
 * Signs a user in with the token of a link. With `email`, the link must have been sent to that address; a mismatch does
 * not spend it.
 * @throws {AuthError} `invalid_grant`, `account_disabled`, `signup_disabled`, `rate_limited`
 */
export async function signInWithLink(
  ctx: Context,
  token: string,
  email: string | undefined,
  origin: SignInOrigin,
): Promise<BrowserSession> {
  const session = await countingFailures(ctx, 'magic_link', async () => {
    const handle = readHandle(ctx.keys, 'magicLink', token);
    if (!handle) throw refused('malformed');
    await ctx.limiter.take(byClient('link_logins', origin.client));
    const [link] = await store.findMagicLink(ctx.db.read, { id: handle.subject.toString('base64url') });
    if (!link || !isUsable(link, ctx.clock())) throw refused('ended');
    if (email !== undefined && emailKeyOf(email) !== link.email_key) throw refused('ended');
    return ctx.db.transaction((tx) => completeSignIn(ctx, tx, link, 'magic_link', origin));
  });
  ctx.metrics.logins.inc({ method: 'magic_link' });
  return session;
}

/**
 * Signs a user in with the code of a mail, in the client that requested it. Every attempt is counted before its code is
 * compared, so that parallel guesses cannot exceed the maximum. The user code of a device, typed by mistake, is none. A refused
 * code of an existing account is recorded in its log.
 * @throws {AuthError} `invalid_grant`, `account_disabled`, `signup_disabled`, `rate_limited`
 */
export async function signInWithCode(ctx: Context, request: string, typed: string, origin: SignInOrigin) {
  const session = await countingFailures(ctx, 'email_code', async () => {
    const handle = readHandle(ctx.keys, 'magicLinkRequest', request);
    if (!handle || normalizeUserCode(typed) !== undefined) throw refused('malformed');
    const attempt = await ctx.limiter.take(byClient('email_codes_by_client', origin.client));
    const id = handle.subject.toString('base64url');
    const result = await ctx.db.transaction(async (tx) => {
      const { link, isRight } = await verifyCode(ctx, tx, id, normalizeEmailCode(typed) ?? '');
      return isRight ? completeSignIn(ctx, tx, link, 'email_code', origin) : link;
    });
    if ('email' in result) {
      recordFailure(ctx, 'email_code', origin.client, {
        by: result.email_key,
        findUserId: async () => (await findAccountOf(ctx.db.read, result.email))?.id,
      });
      throw refused('wrong_code');
    }
    await attempt.refund();
    return result;
  });
  ctx.metrics.logins.inc({ method: 'email_code' });
  return session;
}

/**
 * Counts an attempt and compares the code. One that has no attempts left is wrong.
 * @throws {AuthError} `invalid_grant` when the link cannot be used either
 */
async function verifyCode(ctx: Context, tx: Executor, id: string, code: string) {
  const now = ctx.clock();
  const [counted] = await store.countCodeAttempt(tx, { id, max_attempts: maxCodeAttempts, now });
  if (counted) return { link: counted, isRight: isCodeOf(ctx, counted, code) };
  const [link] = await store.findMagicLink(tx, { id });
  if (!link || !isUsable(link, now)) throw refused('ended');
  return { link, isRight: false };
}

/** Compares with the code under every key of the ring: the mail may be older than the newest key. */
const isCodeOf = (ctx: Context, link: MagicLink, code: string): boolean =>
  ctx.keys.all.filter((key) => sameCode(emailCodeOf(key, link.id), code)).length > 0;

/** Spends all links of the address and starts a session. @throws {AuthError} `invalid_grant` */
async function completeSignIn(
  ctx: Context,
  tx: Executor,
  link: MagicLink,
  method: 'magic_link' | 'email_code',
  origin: SignInOrigin,
): Promise<BrowserSession> {
  // Pipelined, in this order.
  const [spent, existing] = await Promise.all([
    store.spendLinksFor(tx, { email_key: link.email_key, now: ctx.clock() }),
    lockAccountToSignIn(ctx, tx, link.email),
  ]);
  if (!spent.some((row) => row.id === link.id)) throw refused('ended');
  const { id, isNew } =
    existing === undefined ? await signUp(ctx, tx, link, origin.client) : { id: existing, isNew: false };
  return startBrowserSession(ctx, tx, {
    userId: id,
    emailKey: link.email_key,
    makesAccount: isNew,
    method,
    ...origin,
  });
}

export async function deleteMagicLinksTo(tx: Executor, emailKey: string): Promise<void> {
  await store.deleteMagicLinks(tx, { email_key: emailKey });
}

/** Spends every open link to an address, which must be locked. Returns how many there were. */
export async function voidMagicLinksTo(ctx: Context, tx: Executor, emailKey: string): Promise<number> {
  const now = ctx.clock();
  const spent = await store.spendLinksTo(tx, { email_key: emailKey, now });
  return spent.filter(({ expires_at }) => expires_at > now).length;
}

/**
 * For the operator: makes a sign-in link to an account, records it, and notifies the owner; with `create`
 * also to a new one, even where sign-up is closed. `show` gets the only copy, before the commit.
 * @throws {AuthError} `not_found`, `account_disabled`; with `create`, what `importAccount` throws
 */
export async function issueSignInLink(
  ctx: Context,
  { email, create }: { readonly email: string; readonly create: boolean },
  show: (link: string) => Promise<void>,
): Promise<void> {
  const { handle, row } = newLink(ctx, email, { client: noClient, language: undefined });
  const token = mintHandle(ctx.keys, 'magicLink', handle);
  // A transaction may run again.
  const showOnce = once(() => show(`${ctx.config.baseUrl}/magic-link#token=${token}`));
  await ctx.db.transaction(async (tx) => {
    const { id: userId } = create ? await importAccount(ctx, tx, { email }) : await lockAccountOf(tx, email);
    if ((await lockAccount(tx, userId)).disabled_at !== null) throw accountDisabled();
    await store.insertMagicLink(tx, row);
    await notify(ctx, tx, { kind: 'sign_in_link_issued', userId, sessionId: null, client: noClient });
    await recordEvent(ctx, tx, { type: 'sign_in_link_issued', userId, detail: { by: 'operator' } });
    await showOnce();
  });
}
