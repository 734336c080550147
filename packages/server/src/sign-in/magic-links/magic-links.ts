import { normalizeCode } from '@latchkey/contract/codes';
import { emailKeyOf, findOrCreateAccount, requireSignupAllowed } from '../../identity/account/account.ts';
import { recognizeBrowser } from '../../identity/known-browsers/known-browsers.ts';
import type { Context } from '../../platform/context.ts';
import { sameCode } from '../../platform/crypto/codes.ts';
import { mintHandle, readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError } from '../../platform/errors.ts';
import { enqueueMail } from '../../platform/mail/outbox.ts';
import { byClient, mailByKnownBrowser, mailLimits } from '../../platform/rate-limits/by-client.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { type StartedSession, startSession } from '../../sessions/sessions.ts';
import { emailCodeOf, signInTemplate } from './mail.ts';
import * as store from './store.ts';

/** Who asks for a mail: where the request came from, and what the browser is known by. */
interface Asker {
  readonly client: ClientInfo;
  readonly knownBrowserCookie: string | undefined;
}

/**
 * Sends a login mail. What happens, and how long it takes, does not depend on whether the account exists: an account
 * is looked up only for a browser that signed in to it before, which is not in the way of strangers' mails then.
 * `headers` tell where the caller stands with the limits.
 * @throws {AuthError} `rate_limited`
 */
export async function requestMagicLink(ctx: Context, email: string, asker: Asker) {
  const emailKey = emailKeyOf(email);
  const browser = await recognizeBrowser(ctx, asker.knownBrowserCookie, emailKey);
  const mail = await ctx.limiter.take(
    ...(browser === undefined ? mailLimits(emailKey, asker.client) : mailByKnownBrowser(emailKey, browser)),
  );
  const now = ctx.clock();
  const subject = ctx.random(subjectBytes);
  const id = subject.toString('base64url');
  const expiresAt = now + ctx.config.magicLinkTtlSeconds * 1000;
  try {
    await ctx.db.transaction(async (tx) => {
      await store.insertMagicLink(tx, {
        id,
        email,
        email_key: emailKey,
        now,
        expires_at: expiresAt,
      });
      await enqueueMail(ctx, tx, {
        template: signInTemplate,
        recipient: email,
        reference: id,
        expiresAt,
        isUrgent: true,
      });
    });
  } catch (error) {
    await mail.refund();
    throw error;
  }
  ctx.wakeMailWorker();
  const sent = {
    status: 'sent' as const,
    expires_in: ctx.config.magicLinkTtlSeconds,
    request: mintHandle(ctx.keys, 'magicLinkRequest', { subject, value: expiresAt }),
  };
  return { sent, headers: mail.headers };
}

const refused = (detail: string) =>
  new AuthError('invalid_grant', 'The link or code is unknown, expired or already used.', { detail });

type Link = Awaited<ReturnType<typeof store.findMagicLink>>[number];

/** Who logs in, and the browser session that this login replaces. */
interface SignInRequest {
  readonly client: ClientInfo;
  readonly replacesCookie: string | undefined;
}

/**
 * Logs in with the token of a link. With `email` only if the link was sent there; a mismatch spends nothing.
 * @throws {AuthError} `invalid_grant`, `account_disabled`, `signup_disabled`, `rate_limited`
 */
export async function loginWithLink(
  ctx: Context,
  token: string,
  email: string | undefined,
  facts: SignInRequest,
): Promise<StartedSession> {
  const handle = readHandle(ctx.keys, 'magicLink', token);
  if (!handle) throw refused('malformed');
  await ctx.limiter.take(byClient('link_logins', facts.client));
  const session = await ctx.db.transaction(async (tx) => {
    const [link] = await store.lockMagicLink(tx, { id: handle.subject.toString('base64url') });
    if (!link || link.spent_at !== null || link.expires_at <= ctx.clock()) return undefined;
    if (email !== undefined && emailKeyOf(email) !== link.email_key) return undefined;
    return login(ctx, tx, link, 'magic_link', facts);
  });
  if (!session) throw refused('over');
  ctx.metrics.logins.inc({ method: 'magic_link' });
  return session;
}

/**
 * Logs in with the code of a mail, on the screen that asked for it. Every wrong try is counted before the
 * answer leaves.
 * @throws {AuthError} `invalid_grant`, `account_disabled`, `signup_disabled`, `rate_limited`
 */
export async function loginWithCode(
  ctx: Context,
  request: string,
  typed: string,
  facts: SignInRequest,
): Promise<StartedSession> {
  const handle = readHandle(ctx.keys, 'magicLinkRequest', request);
  if (!handle) throw refused('malformed');
  const guess = await ctx.limiter.take(byClient('email_codes_by_client', facts.client));
  const code = normalizeCode(typed) ?? '';
  const result = await ctx.db.transaction(async (tx) => {
    const [link] = await store.countCodeAttempt(tx, {
      id: handle.subject.toString('base64url'),
      greatest_tries: ctx.config.emailCodeTries,
      now: ctx.clock(),
    });
    if (!link) return 'over';
    // The mail may have been written under another key of the ring than the request.
    const right = ctx.keys.all.filter((key) => sameCode(emailCodeOf(key, link.id), code)).length > 0;
    if (!right) return 'wrong_code';
    return (await login(ctx, tx, link, 'email_code', facts)) ?? 'over';
  });
  if (typeof result === 'string') throw refused(result);
  await guess.refund();
  ctx.metrics.logins.inc({ method: 'email_code' });
  return result;
}

/** Spends the link and all others of its address, and starts the session; undefined when another was first. */
async function login(
  ctx: Context,
  tx: Executor,
  link: Link,
  method: 'magic_link' | 'email_code',
  facts: SignInRequest,
): Promise<StartedSession | undefined> {
  await requireSignupAllowed(ctx, tx, link.email);
  const spent = await store.spendLinksFor(tx, { email_key: link.email_key, now: ctx.clock() });
  if (!spent.some((row) => row.id === link.id)) return undefined;
  const { id, isNew } = await findOrCreateAccount(ctx, tx, link.email, facts.client);
  return startSession(ctx, tx, {
    userId: id,
    emailKey: link.email_key,
    makesAccount: isNew,
    kind: 'browser',
    method,
    ...facts,
  });
}

/** Deletes every link that was sent to an address. */
export async function deleteMagicLinksTo(tx: Executor, emailKey: string): Promise<void> {
  await store.deleteMagicLinks(tx, { email_key: emailKey });
}

/** The links that were sent to an address, for the export of personal data. */
export const exportMagicLinks = (on: Executor, emailKey: string) =>
  store.exportMagicLinks(on, { email_key: emailKey });
