import type { NoticeKind } from '@latchkey/contract/notices';
import type { Context } from '../../platform/context.ts';
import { subjectBytes } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import type { Mail } from '../../platform/mail/outbox.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { enqueueForOwner, languageOfOwner, referenceOf, writerForOwner } from './languages.ts';
import { digestIdOf, digestTemplate, noticeTemplate } from './mail.ts';
import * as store from './store.ts';

export { referenceOf, writerForOwner };

/** How long the link of a notice is valid, and so how long the former address can undo a change of address. */
export const noticeTtlSeconds = 7 * 86_400;

export interface Notice {
  readonly kind: NoticeKind;
  readonly userId: string;
  /** The session that the notice is about. Its link undoes everything since that session began, or since the notice if there is none. */
  readonly sessionId: string | null;
  readonly client: ClientInfo;
  readonly clientName?: string | null;
  readonly deviceName?: string | null;
  readonly passkeyName?: string;
  readonly keyName?: string | null;
  readonly newEmail?: string;
  /** Milliseconds since 1970; now by default. */
  readonly at?: number;
  /** The address to send to; the account's address by default. */
  readonly recipient?: string;
}

/**
 * Mails a security notice to the owner of an account: enqueues it in the transaction of its cause. Beyond the rate limit
 * for notices of its kind, the notice goes into a digest that is sent when the limit's window ends.
 */
export async function notify(ctx: Context, tx: Executor, notice: Notice): Promise<void> {
  const [owner] = await store.findOwner(tx, { id: notice.userId });
  if (!owner) return;
  const now = notice.at ?? ctx.clock();
  await send(ctx, tx, { ...owner, email: notice.recipient ?? owner.email }, now, contentOf(notice, now));
}

const contentOf = (notice: Notice, now: number): Content => ({
  user_id: notice.userId,
  kind: notice.kind,
  session_id: notice.sessionId,
  // A key is the program that uses it.
  client_name: notice.clientName ?? notice.keyName ?? null,
  device_name: notice.deviceName ?? null,
  passkey_name: notice.passkeyName ?? null,
  new_email: notice.newEmail ?? null,
  ip_address: notice.client.ipAddress,
  user_agent: notice.client.userAgent,
  created_at: now,
});

type Content = Omit<
  Parameters<typeof store.insertNotice>[1],
  'id' | 'email' | 'email_key' | 'language' | 'expires_at' | 'digest_id'
>;

type Owner = Awaited<ReturnType<typeof store.findOwner>>[number];

/** Stores a notice and enqueues its mail, or the digest that lists it. */
async function send(ctx: Context, tx: Executor, owner: Owner, now: number, content: Content): Promise<void> {
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
  const { email: recipient } = owner;
  const digestId = isDigested ? digestIdOf(window.id, recipient) : null;
  const id = ctx.random(subjectBytes).toString('base64url');
  const expiresAt = now + noticeTtlSeconds * 1000;
  const reader = { email: recipient, email_key: emailKeyOf(recipient), language: languageOfOwner(owner) };
  await store.insertNotice(tx, { ...content, ...reader, id, expires_at: expiresAt, digest_id: digestId });
  if (digestId === null) {
    const mail = { template: noticeTemplate, recipient, userId: content.user_id, reference: id, expiresAt };
    return enqueueForOwner(ctx, tx, owner, mail);
  }
  ctx.metrics.limitsHit.inc({ limit: 'notices' });
  await enqueueForOwner(ctx, tx, owner, {
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
  return notice?.outcome == null ? undefined : { ...notice, outcome: notice.outcome };
}

/** What decides the languages of mails to the owner of an account, and how times are written. */
export async function findReader(on: Executor, userId: string) {
  return (await store.findReader(on, { id: userId })).at(0);
}

/** Adds a mail to the owner of an account, which `writerForOwner` writes, in each of their languages. */
export async function mailOwner(
  ctx: Context,
  tx: Executor,
  mail: Mail & { readonly userId: string },
): Promise<void> {
  const owner = await findReader(tx, mail.userId);
  if (owner) await enqueueForOwner(ctx, tx, owner, mail);
}

/**
 * What undoing everything since an ordinal does to the notices of a locked account. The link `id`, and those about what was undone, are used
 * and have its outcome. Those that were not sent are deleted, so that they never are.
 */
export async function useNotices(
  ctx: Context,
  tx: Executor,
  undone: { readonly userId: string; readonly id: string; readonly since: number; readonly outcome: string },
): Promise<void> {
  const { userId: user_id, id, since, outcome } = undone;
  await store.useNotices(tx, { user_id, id, since, outcome, now: ctx.clock() });
  await store.deleteUnsentNotices(tx, { user_id, except_id: id, since });
}

/** Deletes the notices of a locked account that went to other addresses than this one: their links stop working. */
export async function deleteNoticesToOthers(
  tx: Executor,
  { userId, emailKey }: { readonly userId: string; readonly emailKey: string },
): Promise<void> {
  await store.deleteNoticesToOthers(tx, { user_id: userId, email_key: emailKey });
}
