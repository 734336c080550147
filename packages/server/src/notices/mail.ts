import type { NoticeKind } from '@latchkey/contract/notices';
import { mintHandle } from '../crypto/handle.ts';
import type { Tables } from '../database/schema.ts';
import { composeMessage, type Fact, type Part, utcMinute } from '../mail/compose.ts';
import type { Message, Template } from '../mail/message.ts';
import * as store from './store.ts';

export const noticeTemplate = 'notice';

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

/** The words of a notice. */
function noticeMessage(notice: NoticeRow, link: string): Message {
  const { subject, what, undo } = words[notice.kind];
  const said = [
    ...claimed('Device', notice.device_name),
    ...claimed('Program', notice.client_name),
    ...claimed('Passkey', notice.passkey_name),
    ...claimed('User agent', notice.user_agent),
  ];
  const facts: Fact[] = [
    ...(notice.new_email === null ? [] : [{ label: 'New address', value: notice.new_email }]),
    { label: 'When', value: utcMinute(notice.created_at) },
    { label: 'IP address', value: notice.ip_address ?? 'an unknown address' },
    ...said,
  ];
  const parts: Part[] = [
    what,
    { facts },
    ...(said.length === 0
      ? []
      : ['Words in quotes are what the program or person said. Nobody has checked them.']),
    'If this was you, there is nothing to do.',
    `If this was not you, open this link and press the button there: it ${undo}`,
    { link, words: 'This was not me' },
    `Opening the link alone changes nothing. It is good until ${utcMinute(notice.expires_at)}.`,
  ];
  return composeMessage(subject, parts);
}

/** Makes the link at the moment of sending; the same again if the mail has to be sent again. */
export const noticeMail: Template = async (ctx, mail) => {
  const [notice] = await store.findNotice(ctx.db.read, { id: mail.reference });
  if (!notice) return undefined;
  const subject = Buffer.from(notice.id, 'base64url');
  const token = mintHandle(ctx.keys, 'notice', { subject, value: notice.expires_at });
  return noticeMessage(notice, `${ctx.config.baseUrl}/not-me#token=${token}`);
};
