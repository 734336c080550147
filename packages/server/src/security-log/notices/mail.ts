import type { NoticeKind } from '@latchkey/contract/notices';
import type { Product } from '../../platform/config/product.ts';
import type { Context } from '../../platform/context.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';
import type { Tables } from '../../platform/database/schema.ts';
import {
  composeMessage,
  type Fact,
  type Part,
  quotesExplained,
  timesFor,
} from '../../platform/mail/compose.ts';
import type { Message, Template } from '../../platform/mail/message.ts';
import * as store from './store.ts';

export const noticeTemplate = 'notice';
export const digestTemplate = 'notice_digest';

/** How many notices a digest lists, newest first. It says how many more there are. */
export const maxDigestNotices = 50;

type NoticeRow = Tables['notices'];

interface Wording {
  readonly subject: string;
  readonly digestSubject: string;
  readonly what: string;
  /** What using the link does, after "It". */
  readonly undo: string;
}

const added =
  'passkeys, keys, approved devices, a changed email address, and any sessions that came from those.';

const endsSession = `ends that session and undoes everything it added: ${added}`;

/** What the mails say about each kind of notice, with the name of the product. */
const wordingsFor = (product: string): Record<NoticeKind, Wording> => ({
  new_device: {
    subject: `A new device signed in to your ${product} account`,
    digestSubject: `More new devices signed in to your ${product} account`,
    what: `A new device signed in to your ${product} account. Someone who was signed in as you approved it.`,
    undo: `${endsSession} The page then offers to end the session that approved the device, too.`,
  },
  new_browser: {
    subject: `New sign-in to your ${product} account`,
    digestSubject: `More new sign-ins to your ${product} account`,
    what: `Someone signed in to your ${product} account from a browser and network that have not been used together before.`,
    undo: endsSession,
  },
  passkey_added: {
    subject: `A passkey was added to your ${product} account`,
    digestSubject: `More passkeys were added to your ${product} account`,
    what: `A passkey was added to your ${product} account. Anyone who has it can sign in as you.`,
    undo: endsSession,
  },
  passkey_removed: {
    subject: `A passkey was removed from your ${product} account`,
    digestSubject: `More passkeys were removed from your ${product} account`,
    what: `A passkey was removed from your ${product} account. You can no longer sign in with it.`,
    undo: `${endsSession} It does not restore the removed passkey; you can add that again.`,
  },
  key_added: {
    subject: `A key was created for your ${product} account`,
    digestSubject: `More keys were created for your ${product} account`,
    what: `A key was created for your ${product} account. A program that has it can act as you, within what the key allows, until the key expires.`,
    undo: endsSession,
  },
  key_removed: {
    subject: `A key of your ${product} account was removed`,
    digestSubject: `More keys of your ${product} account were removed`,
    what: `A key of your ${product} account was removed. Programs that use it can no longer act as you.`,
    undo: `${endsSession} It does not restore the removed key; you can create a new one.`,
  },
  email_changed: {
    subject: `The email address of your ${product} account was changed`,
    digestSubject: `The email address of your ${product} account was changed again`,
    what: `The email address of your ${product} account was changed. Sign-in links and security notices no longer come to this address.`,
    undo: 'restores this address and ends every session of the account.',
  },
  theft_stopped: {
    subject: `A session of your ${product} account was ended because its token was used twice`,
    digestSubject: `More sessions of your ${product} account were ended because their tokens were used twice`,
    what: `A token of a session of your ${product} account was used a second time, which can mean that someone copied it. We ended that session; your other sessions are not affected. Sign in again where you need to.`,
    undo: `undoes everything that session added: ${added}`,
  },
  refresh_repeated_elsewhere: {
    subject: `A session of your ${product} account was used from two places`,
    digestSubject: `More sessions of your ${product} account were used from two places`,
    what: `A program refreshed a session of your ${product} account, and the same request came again from another network or another program. This happens when a device changes networks at that moment, or when someone copied the credentials of that session. The details below are those of the second request.`,
    undo: endsSession,
  },
});

const claimed = (label: string, text: string | null): Fact[] =>
  text === null ? [] : [{ label, claimed: text }];

const isAboutKey = ({ kind }: NoticeRow): boolean => kind === 'key_added' || kind === 'key_removed';

/** What the program or person said about itself. */
const claimsIn = (notice: NoticeRow): Fact[] => [
  ...claimed('Device', notice.device_name),
  ...claimed(isAboutKey(notice) ? 'Key' : 'Program', notice.client_name),
  ...claimed('Passkey', notice.passkey_name),
  ...claimed('User agent', notice.user_agent),
];

type WriteTime = ReturnType<typeof timesFor>;

const factsOf = (notice: NoticeRow, when: WriteTime): Fact[] => [
  ...(notice.new_email === null ? [] : [{ label: 'New address', value: notice.new_email }]),
  { label: 'When', value: when(notice.created_at) },
  { label: 'IP address', value: notice.ip_address ?? 'unknown' },
  ...claimsIn(notice),
];

const linkWords = "This wasn't me";

function noticeMessage(product: Product, notice: NoticeRow, link: string, when: WriteTime): Message {
  const { subject, what, undo } = wordingsFor(product.name)[notice.kind];
  const parts: Part[] = [
    what,
    { facts: factsOf(notice, when) },
    ...(claimsIn(notice).length === 0 ? [] : [quotesExplained]),
    'If this was you, you can ignore this email.',
    `If this wasn't you, open this link and press the button on the page. It ${undo}`,
    { link, words: linkWords },
    `Opening the link alone changes nothing. The link expires ${when(notice.expires_at)}.`,
  ];
  return composeMessage(product, subject, parts);
}

const linkOf = (ctx: Context, { id, expires_at }: NoticeRow): string => {
  const subject = Buffer.from(id, 'base64url');
  const token = mintHandle(ctx.keys, 'notice', { subject, value: expires_at });
  return `${ctx.config.baseUrl}/not-me#token=${token}`;
};

/** The digest of `count` notices of one kind. Each listed notice has its own link. */
function digestMessage(
  product: Product,
  kind: NoticeKind,
  listed: readonly { readonly notice: NoticeRow; readonly link: string }[],
  count: number,
  when: WriteTime,
): Message {
  const { digestSubject, undo } = wordingsFor(product.name)[kind];
  const more = count - listed.length;
  const firstExpiry = Math.min(...listed.map(({ notice }) => notice.expires_at));
  return composeMessage(product, digestSubject, [
    `You received many notices of this kind about your ${product.name} account within an hour. This email lists the rest, newest first.`,
    'If all of this was you, you can ignore this email.',
    `If something wasn't you, open the link below it and press the button on the page. It ${undo} Opening a link alone changes nothing. The first of these links expires ${when(firstExpiry)}.`,
    quotesExplained,
    ...listed.flatMap(({ notice, link }): Part[] => [
      { facts: factsOf(notice, when) },
      { link, words: linkWords },
    ]),
    ...(more === 0
      ? []
      : [`${more} more ${more === 1 ? 'is' : 'are'} only in the security log on your account page.`]),
  ]);
}

/** Writes times as the profile of the account's owner asks for when the mail is sent. */
const timesForOwner = async (ctx: Context, { user_id }: NoticeRow): Promise<WriteTime> =>
  timesFor((await store.findReader(ctx.db.read, { user_id })).at(0));

/** Closes the window of a digest and composes the mail, identically if it has to be sent again. */
export const digestMail: Template = async (ctx, mail) => {
  await store.closeWindow(ctx.db.single, { id: mail.reference });
  const digest = { digest_id: mail.id };
  const notices = await store.listDigest(ctx.db.read, { ...digest, limit: maxDigestNotices });
  const [newest] = notices;
  const [counted] = await store.countDigest(ctx.db.read, digest);
  if (!newest || !counted) return undefined;
  const listed = notices.map((notice) => ({ notice, link: linkOf(ctx, notice) }));
  const count = Math.max(Number(counted.notices), listed.length);
  const when = await timesForOwner(ctx, newest);
  return digestMessage(ctx.config.product, newest.kind, listed, count, when);
};

/** Mints the link when the mail is sent, identically if it has to be sent again. */
export const noticeMail: Template = async (ctx, mail) => {
  const [notice] = await store.findNotice(ctx.db.read, { id: mail.reference });
  if (!notice) return undefined;
  return noticeMessage(ctx.config.product, notice, linkOf(ctx, notice), await timesForOwner(ctx, notice));
};
