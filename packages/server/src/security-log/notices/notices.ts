import { type Language, languageOf } from '@latchkey/contract/languages';
import type { NoticeKind } from '@latchkey/contract/notices';
import type { Context } from '../../platform/context.ts';
import { subjectBytes } from '../../platform/crypto/handle.ts';
import { hashedId } from '../../platform/crypto/primitives.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { writerFor } from '../../platform/mail/compose.ts';
import { enqueueMail, type Mail } from '../../platform/mail/outbox.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import * as store from './store.ts';

export const noticeTemplate = 'notice';
export const digestTemplate = 'notice_digest';

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
  const { kind, userId, client } = notice;
  const owner = await findOwner(tx, userId);
  if (!owner) return;
  const now = notice.at ?? ctx.clock();
  const recipient = notice.recipient ?? owner.email;
  const recipientKey = notice.recipient === undefined ? owner.email_key : emailKeyOf(recipient);
  const { quota, windowSeconds } = ctx.config.rateLimitQuotas.notices;
  const [window] = await store.countNotice(tx, {
    user_id: userId,
    kind,
    id: ctx.random(subjectBytes).toString('base64url'),
    ends_at: now + windowSeconds * 1000,
    window_ms: windowSeconds * 1000,
  });
  if (!window) throw new Error('a notice was not counted');
  const digestId = window.notices > quota ? digestIdOf(window.id, recipient) : null;
  const id = ctx.random(subjectBytes).toString('base64url');
  const expiresAt = now + noticeTtlSeconds * 1000;
  await store.insertNotice(tx, {
    id,
    user_id: userId,
    kind,
    session_id: notice.sessionId,
    // A key is the program that uses it.
    client_name: notice.clientName ?? notice.keyName ?? null,
    device_name: notice.deviceName ?? null,
    passkey_name: notice.passkeyName ?? null,
    new_email: notice.newEmail ?? null,
    ip_address: client.ipAddress,
    user_agent: client.userAgent,
    created_at: now,
    email: recipient,
    email_key: recipientKey,
    language: languageOfOwner(owner),
    expires_at: expiresAt,
    digest_id: digestId,
  });
  const to = { recipient, recipientKey, userId };
  if (digestId === null)
    return enqueueForOwner(ctx, tx, owner, { template: noticeTemplate, ...to, reference: id, expiresAt });
  ctx.metrics.limitsHit.inc({ limit: 'notices' });
  await enqueueForOwner(ctx, tx, owner, {
    id: digestId,
    template: digestTemplate,
    ...to,
    reference: window.id,
    due: window.ends_at,
    expiresAt: window.ends_at + noticeTtlSeconds * 1000,
  });
}

type Owner = NonNullable<Awaited<ReturnType<typeof findOwner>>>;

/** The outbox id of the only digest that a window sends to an address. */
export const digestIdOf = (windowId: string, recipient: string): string =>
  mailIdOf('notice digest', windowId, recipient);

/** A notice whose link has not expired, used or not. */
export async function findOpenNotice(ctx: Context, on: Executor, id: string) {
  return (await store.findOpenNotice(on, { id, now: ctx.clock() })).at(0);
}

/** A notice whose link has been used, expired or not. */
export async function findDisownedNotice(on: Executor, id: string) {
  const [notice] = await store.findNotice(on, { id });
  return notice?.outcome == null ? undefined : { ...notice, outcome: notice.outcome };
}

/** The address of an account, and what decides the languages of its mails and how they write times. */
export async function findOwner(on: Executor, userId: string) {
  return (await store.findOwner(on, { id: userId })).at(0);
}

/** Adds a mail to the owner of an account, which `writerForOwner` writes, in each of their languages. */
export async function mailOwner(ctx: Context, tx: Executor, mail: Mail & { readonly userId: string }) {
  const owner = await findOwner(tx, mail.userId);
  if (owner) await enqueueForOwner(ctx, tx, owner, mail);
}

/** How long mails to the owner of an account also come in the language that it had before. */
const formerLanguageTtlMs = 7 * 86_400_000;

const languageOfOwner = ({ locale }: Owner): Language => languageOf(locale) ?? 'en';

/** The other languages that the account had until a few days ago: a thief with a token may have chosen the current one. */
function formerLanguages(owner: Owner, now: number): Language[] {
  const left = Object.entries(JSON.parse(owner.former_languages ?? '{}') as Record<Language, number>);
  return left
    .filter(([language, leftAt]) => leftAt > now - formerLanguageTtlMs && language !== languageOfOwner(owner))
    .map(([language]) => language as Language);
}

/** Adds a mail to the owner of an account to the outbox, and one more for each former language. */
async function enqueueForOwner(ctx: Context, tx: Executor, owner: Owner, mail: Mail): Promise<void> {
  await enqueueMail(ctx, tx, mail);
  for (const language of formerLanguages(owner, ctx.clock())) {
    const id = mail.id === undefined ? {} : { id: mailIdOf(mail.id, language) };
    await enqueueMail(ctx, tx, { ...mail, ...id, reference: `${mail.reference} ${language}` });
  }
}

/** The id of a mail in the outbox that is the same for the same parts. */
const mailIdOf = (...parts: string[]): string => `mail_${hashedId('mail', ...parts)}`;

/** What a mail to the owner of an account refers to, and the former language that it is in, if it is. */
export function referenceOf({ reference: text }: Pick<Mail, 'reference'>) {
  const [reference = '', language] = text.split(' ');
  return { reference, language: language as Language | undefined };
}

/** Writes to the owner of an account, in another language if one is given. */
export async function writerForOwner(ctx: Context, userId: string, language?: Language | null) {
  const owner = await findOwner(ctx.db.read, userId);
  const isOther = owner && language && language !== languageOfOwner(owner);
  return writerFor(ctx.config.product, isOther ? { ...owner, locale: language } : owner);
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

export const { deleteNoticesToOthers } = store;
