import { browserName } from '@latchkey/contract/browser-name';
import type { NoticeKind } from '@latchkey/contract/notices';
import { pluralText } from '@latchkey/contract/texts';
import type { Context } from '../../platform/context.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';
import { composeMessage, type Fact, type Part, type Writer } from '../../platform/mail/compose.ts';
import type { Message, Template } from '../../platform/mail/message.ts';
import { digestIdOf, referenceOf, writerForOwner } from './notices.ts';
import * as store from './store.ts';

/** How many notices a digest lists, newest first. It says how many more there are. */
export const maxDigestNotices = 50;

type NoticeRow = Awaited<ReturnType<typeof store.findNotice>>[number];

/** What using the link of a notice does. */
function undoText({ fill, texts: { undo } }: Writer, kind: NoticeKind): string {
  const texts: Record<NoticeKind, string> = {
    new_device: undo.device,
    new_browser: undo.session,
    new_app: undo.app,
    passkey_added: undo.session,
    passkey_removed: undo.passkey,
    key_added: undo.session,
    key_removed: undo.key,
    email_changed: undo.address,
    theft_stopped: undo.session,
    refresh_repeated_elsewhere: undo.session,
    sign_in_link_issued: undo.link,
  };
  return fill(texts[kind], { session: undo.session });
}

const claimed = (label: string, text: string | null): Fact[] =>
  text === null ? [] : [{ label, claimed: text }];

const isAboutKey = ({ kind }: NoticeRow): boolean => kind === 'key_added' || kind === 'key_removed';

function factsOf({ texts: { notice: texts, signIn }, when }: Writer, notice: NoticeRow): Fact[] {
  const browser = browserName(notice.user_agent ?? '', signIn.browserOn);
  return [
    ...(notice.new_email === null ? [] : [{ label: texts.newAddress, address: notice.new_email }]),
    { label: texts.when, value: when(notice.created_at) },
    // A command has no address.
    ...(notice.ip_address === null ? [] : [{ label: texts.ipAddress, value: notice.ip_address }]),
    ...(browser === undefined ? [] : [{ label: signIn.browser, value: browser }]),
    ...claimed(texts.device, notice.device_name),
    ...claimed(isAboutKey(notice) ? texts.key : texts.program, notice.client_name),
    ...claimed(texts.passkey, notice.passkey_name),
    ...claimed(texts.userAgent, browser === undefined ? notice.user_agent : null),
  ];
}

function noticeMessage(writer: Writer, notice: NoticeRow, link: string): Message {
  const { fill, texts, when } = writer;
  const { subject, what } = texts.notices[notice.kind];
  const facts = factsOf(writer, notice);
  const parts: Part[] = [
    fill(what),
    { facts },
    texts.notice.notYou,
    { link, words: texts.notice.link },
    undoText(writer, notice.kind),
    ...(facts.some((fact) => 'claimed' in fact) ? [texts.quotesExplained] : []),
    fill(texts.notice.expires, { time: when(notice.expires_at) }),
  ];
  return composeMessage(writer, fill(subject), parts);
}

const linkOf = (ctx: Context, { id, expires_at }: NoticeRow): string => {
  const subject = Buffer.from(id, 'base64url');
  const token = mintHandle(ctx.keys, 'notice', { subject, value: expires_at });
  return `${ctx.config.baseUrl}/not-me#token=${token}`;
};

/** The digest of `count` notices of one kind. Each listed notice has its own link. */
function digestMessage(
  writer: Writer,
  kind: NoticeKind,
  listed: readonly { readonly notice: NoticeRow; readonly link: string }[],
  count: number,
): Message {
  const { fill, language, texts, when } = writer;
  const { what, wasYou, notYou, more } = texts.digest;
  const unlisted = count - listed.length;
  const firstExpiry = Math.min(...listed.map(({ notice }) => notice.expires_at));
  return composeMessage(writer, fill(texts.notices[kind].digestSubject), [
    fill(what),
    wasYou,
    fill(notYou, { undo: undoText(writer, kind), time: when(firstExpiry) }),
    texts.quotesExplained,
    ...listed.flatMap(({ notice, link }): Part[] => [
      { facts: factsOf(writer, notice) },
      { link, words: texts.notice.link },
    ]),
    ...(unlisted === 0 ? [] : [pluralText(language, more, unlisted)]),
  ]);
}

/** Closes the window of a digest and composes the mail, identically if it has to be sent again. */
export const digestMail: Template = async (ctx, mail) => {
  const { reference: windowId, language } = referenceOf(mail);
  await store.closeWindow(ctx.db.single, { id: windowId });
  const digest_id = digestIdOf(windowId, mail.recipient);
  const notices = await store.listDigest(ctx.db.read, { digest_id, limit: maxDigestNotices });
  const [newest] = notices;
  if (!newest) return undefined;
  const listed = notices.map((notice) => ({ notice, link: linkOf(ctx, notice) }));
  const writer = await writerForOwner(ctx, newest.user_id, language ?? newest.language);
  return digestMessage(writer, newest.kind, listed, Number(newest.in_digest));
};

/** Mints the link when the mail is sent, identically if it has to be sent again. */
export const noticeMail: Template = async (ctx, mail) => {
  const { reference: id, language } = referenceOf(mail);
  const [notice] = await store.findNotice(ctx.db.read, { id });
  if (!notice) return undefined;
  const writer = await writerForOwner(ctx, notice.user_id, language ?? notice.language);
  return noticeMessage(writer, notice, linkOf(ctx, notice));
};
