import type { NoticeKind } from '@latchkey/contract/notices';
import type { Context } from '../../platform/context.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { composeMessage, type Fact, type Part, utcMinute } from '../../platform/mail/compose.ts';
import type { Message, Template } from '../../platform/mail/message.ts';
import * as store from './store.ts';

export const noticeTemplate = 'notice';
export const digestTemplate = 'notice_digest';

/** How many notices a digest lists, newest first. It says how many more there are. */
export const maxDigestNotices = 50;

type NoticeRow = Tables['notices'];

interface Words {
  readonly subject: string;
  readonly what: string;
  /** What the link does, after "press the button there: it". */
  readonly undo: string;
}

const endsLogin =
  'signs that login out and undoes everything it added: passkeys, approved devices, a changed address, and the logins that came of them.';

const words: Record<NoticeKind, Words> = {
  new_device: {
    subject: 'A device was signed in to your Latchkey account',
    what: 'A device was signed in to your Latchkey account, after somebody who was signed in as you approved it.',
    undo: `${endsLogin} The page then offers to end the login that approved the device, too.`,
  },
  new_browser: {
    subject: 'Your Latchkey account was signed in to from a new place',
    what: 'Somebody signed in to your Latchkey account from a browser and a network that were not used together for it before.',
    undo: endsLogin,
  },
  passkey_added: {
    subject: 'A passkey was added to your Latchkey account',
    what: 'A passkey was added to your Latchkey account. Whoever holds it can sign in as you.',
    undo: endsLogin,
  },
  passkey_removed: {
    subject: 'A passkey was removed from your Latchkey account',
    what: 'A passkey was removed from your Latchkey account. It no longer signs you in.',
    undo: `${endsLogin} The removed passkey does not come back; you can add it again.`,
  },
  email_changed: {
    subject: 'The address of your Latchkey account was changed',
    what: 'The mail address of your Latchkey account was changed. Sign-in mails and notices no longer come to this address.',
    undo: 'puts this address back and signs out every login of the account.',
  },
  theft_stopped: {
    subject: 'A login of your Latchkey account was ended, because its token was used twice',
    what: 'A token of one of your logins was used a second time, as happens when somebody has copied it. That login has been ended; your other ones are untouched. Sign in again where you need to.',
    undo: 'undoes everything that login added: passkeys, approved devices, a changed address, and the logins that came of them.',
  },
  refresh_repeated_elsewhere: {
    subject: 'A login of your Latchkey account was refreshed twice, from two different places',
    what: 'A program refreshed one of your logins, and the same request came again from another network or another program. This happens when a device changes networks at that moment, or when somebody has copied the credentials of that login. The details below are those of the second request.',
    undo: endsLogin,
  },
};

const claimed = (label: string, text: string | null): Fact[] =>
  text === null ? [] : [{ label, claimed: text }];

/** What a digest of each kind is about. */
const digestSubjects: Record<NoticeKind, string> = {
  new_device: 'More devices were signed in to your Latchkey account',
  new_browser: 'Your Latchkey account was signed in to from more new places',
  passkey_added: 'More passkeys were added to your Latchkey account',
  passkey_removed: 'More passkeys were removed from your Latchkey account',
  email_changed: 'The address of your Latchkey account was changed more often',
  theft_stopped: 'More logins of your Latchkey account were ended, because their tokens were used twice',
  refresh_repeated_elsewhere:
    'More logins of your Latchkey account were refreshed twice, from two different places',
};

/** What the program or person said of itself. */
const saidIn = (notice: NoticeRow): Fact[] => [
  ...claimed('Device', notice.device_name),
  ...claimed('Program', notice.client_name),
  ...claimed('Passkey', notice.passkey_name),
  ...claimed('User agent', notice.user_agent),
];

const factsOf = (notice: NoticeRow): Fact[] => [
  ...(notice.new_email === null ? [] : [{ label: 'New address', value: notice.new_email }]),
  { label: 'When', value: utcMinute(notice.created_at) },
  { label: 'IP address', value: notice.ip_address ?? 'an unknown address' },
  ...saidIn(notice),
];

const quotesExplained = 'Words in quotes are what the program or person said. Nobody has checked them.';

/** The words of a notice. */
function noticeMessage(notice: NoticeRow, link: string): Message {
  const { subject, what, undo } = words[notice.kind];
  const parts: Part[] = [
    what,
    { facts: factsOf(notice) },
    ...(saidIn(notice).length === 0 ? [] : [quotesExplained]),
    'If this was you, there is nothing to do.',
    `If this was not you, open this link and press the button there: it ${undo}`,
    { link, words: 'This was not me' },
    `Opening the link alone changes nothing. It is good until ${utcMinute(notice.expires_at)}.`,
  ];
  return composeMessage(subject, parts);
}

const linkOf = (ctx: Context, { id, expires_at }: NoticeRow): string => {
  const subject = Buffer.from(id, 'base64url');
  const token = mintHandle(ctx.keys, 'notice', { subject, value: expires_at });
  return `${ctx.config.baseUrl}/not-me#token=${token}`;
};

/** The words of a digest: of `count` notices of one kind those that are listed, each with its own link. */
function digestMessage(
  kind: NoticeKind,
  listed: readonly { readonly notice: NoticeRow; readonly link: string }[],
  count: number,
): Message {
  const more = count - listed.length;
  const goodUntil = Math.min(...listed.map(({ notice }) => notice.expires_at));
  return composeMessage(digestSubjects[kind], [
    'So many notices of this kind were due within an hour that the rest of them stand in this one mail, newest first.',
    'If all of this was you, there is nothing to do.',
    `If something was not you, open the link below it and press the button there: it ${words[kind].undo} Opening a link alone changes nothing. Each link is good until ${utcMinute(goodUntil)} at least.`,
    quotesExplained,
    ...listed.flatMap(({ notice, link }): Part[] => [
      { facts: factsOf(notice) },
      { link, words: 'This was not me' },
    ]),
    ...(more === 0
      ? []
      : [`${more} more ${more === 1 ? 'is' : 'are'} in the security log on your account page only.`]),
  ]);
}

/** Closes the window of a digest and fills it in; the same again if the mail has to be sent again. */
export const digestMail: Template = async (ctx, mail) => {
  await store.closeWindow(ctx.db.single, { id: mail.reference });
  const digest = { digest_id: mail.id };
  const notices = await store.listDigest(ctx.db.read, { ...digest, limit: maxDigestNotices });
  const [newest] = notices;
  const [counted] = await store.countDigest(ctx.db.read, digest);
  if (!newest || !counted) return undefined;
  const listed = notices.map((notice) => ({ notice, link: linkOf(ctx, notice) }));
  return digestMessage(newest.kind, listed, Math.max(Number(counted.notices), listed.length));
};

/** Makes the link at the moment of sending; the same again if the mail has to be sent again. */
export const noticeMail: Template = async (ctx, mail) => {
  const [notice] = await store.findNotice(ctx.db.read, { id: mail.reference });
  if (!notice) return undefined;
  return noticeMessage(notice, linkOf(ctx, notice));
};
