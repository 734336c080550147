import type { NoticeKind } from '@latchkey/contract/notices';
import type { Context } from '../../platform/context.ts';
import { subjectBytes } from '../../platform/crypto/handle.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { enqueueMail } from '../../platform/mail/outbox.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { digestTemplate, maxDigestNotices, noticeTemplate } from './mail.ts';
import * as store from './store.ts';
import { spendNotice, spendNoticeForApprover, storeOutcome } from './store.ts';

export { spendNotice, spendNoticeForApprover, storeOutcome };

/** How long the link of a notice is valid, and so how long the former address can undo a change of address. */
export const noticeTtlSeconds = 7 * 86_400;

export interface Notice {
  readonly kind: NoticeKind;
  readonly userId: string;
  /** The session that the notice is about. */
  readonly sessionId: string;
  readonly client: ClientInfo;
  readonly clientName?: string | null;
  readonly deviceName?: string | null;
  readonly passkeyName?: string;
  readonly keyName?: string | null;
  readonly emailChange?: { readonly id: string; readonly newEmail: string };
  /** Milliseconds since 1970; now by default. */
  readonly at?: number;
  /** The address to send to; the account's address by default. */
  readonly recipient?: string;
}

/** The outbox id of the only digest that a window sends to an address. */
const digestIdOf = (windowId: string, recipient: string): string =>
  `mail_${sha256('notice digest', windowId, recipient).subarray(0, subjectBytes).toString('base64url')}`;

/**
 * Mails a security notice to the owner of an account: enqueues it in the transaction of its cause. Beyond the rate limit
 * for notices of its kind, the notice goes into a digest that is sent when the limit's window ends.
 */
export async function notify(ctx: Context, tx: Executor, notice: Notice): Promise<void> {
  const recipient =
    notice.recipient ?? (await store.findAddress(tx, { user_id: notice.userId })).at(0)?.email;
  if (recipient === undefined) return;
  const now = notice.at ?? ctx.clock();
  await send(ctx, tx, recipient, now, contentOf(notice, now));
}

const contentOf = (notice: Notice, now: number): Content => ({
  user_id: notice.userId,
  kind: notice.kind,
  session_id: notice.sessionId,
  email_change_id: notice.emailChange?.id ?? null,
  // A key is the program that uses it.
  client_name: notice.clientName ?? notice.keyName ?? null,
  device_name: notice.deviceName ?? null,
  passkey_name: notice.passkeyName ?? null,
  new_email: notice.emailChange?.newEmail ?? null,
  ip_address: notice.client.ipAddress,
  user_agent: notice.client.userAgent,
  created_at: now,
});

type Content = Omit<
  Parameters<typeof store.insertNotice>[1],
  'id' | 'email_key' | 'expires_at' | 'digest_id'
>;

/** Stores a notice and enqueues its mail, or the digest that lists it. */
async function send(
  ctx: Context,
  tx: Executor,
  recipient: string,
  now: number,
  content: Content,
): Promise<void> {
  const windowMs = ctx.config.rateLimitQuotas.notices.windowSeconds * 1000;
  const [window] = await store.countNotice(tx, {
    user_id: content.user_id,
    kind: content.kind,
    id: ctx.random(subjectBytes).toString('base64url'),
    ends_at: now + windowMs,
    window_ms: windowMs,
  });
  if (!window) throw new Error('a notice was not counted');
  const isDigested = window.notices > ctx.config.rateLimitQuotas.notices.quota;
  const digestId = isDigested ? digestIdOf(window.id, recipient) : null;
  const id = ctx.random(subjectBytes).toString('base64url');
  const expiresAt = now + noticeTtlSeconds * 1000;
  const email_key = emailKeyOf(recipient);
  await store.insertNotice(tx, { ...content, id, email_key, expires_at: expiresAt, digest_id: digestId });
  if (digestId === null) {
    const mail = { template: noticeTemplate, recipient, userId: content.user_id, reference: id, expiresAt };
    return enqueueMail(ctx, tx, mail);
  }
  ctx.metrics.limitsHit.inc({ limit: 'notices' });
  await enqueueMail(ctx, tx, {
    id: digestId,
    template: digestTemplate,
    recipient,
    userId: content.user_id,
    reference: window.id,
    due: window.ends_at,
    expiresAt: window.ends_at + noticeTtlSeconds * 1000,
  });
}

/** A notice whose link has not expired, used or not. */
export async function findOpenNotice(ctx: Context, on: Executor, id: string) {
  return (await store.findOpenNotice(on, { id, now: ctx.clock() })).at(0);
}

/** A notice whose link has been used, expired or not. */
export async function findDisownedNotice(on: Executor, id: string) {
  const [notice] = await store.findNotice(on, { id });
  return notice && notice.disowned_at !== null ? notice : undefined;
}

/** What decides how times are written to the owner of an account, in mails about its notices. */
export async function findReader(on: Executor, userId: string) {
  return (await store.findReader(on, { id: userId })).at(0);
}

/**
 * Sends the notices of a locked account to these addresses again, to another one: they went, or were about to go, to addresses
 * that the account should not have had. The links in the earlier mails stop working; mails that still wait are not sent.
 * Of each kind, the newest are sent again, as many as a digest lists. Leaves out the notice whose link is in use.
 */
export async function redirectNotices(
  ctx: Context,
  tx: Executor,
  redirection: {
    readonly userId: string;
    readonly emailKeys: readonly string[];
    readonly recipient: string;
    readonly exceptId?: string;
  },
): Promise<void> {
  const { userId, emailKeys, recipient, exceptId = '' } = redirection;
  const misdirected = { user_id: userId, email_keys: JSON.stringify(emailKeys), except_id: exceptId };
  const notices = await store.listNewestTo(tx, { ...misdirected, limit: maxDigestNotices });
  await store.deleteNoticesTo(tx, misdirected);
  const now = ctx.clock();
  for (const notice of notices) await send(ctx, tx, recipient, now, notice);
}
