import {
  composeMessage,
  type Fact,
  type Part,
  quotesExplained,
  timesFor,
} from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';
import { findDisownedNotice, findReader } from '../../security-log/notices/notices.ts';
import { outcomeOf } from './outcome.ts';

export const disownedTemplate = 'disowned';

const count = (label: string, number: number): Fact[] =>
  number === 0 ? [] : [{ label, value: String(number) }];

/** The mail to the owner about what the link of a notice undid. */
export const disownedMail: Template = async ({ config: { product }, db }, mail) => {
  const notice = await findDisownedNotice(db.read, mail.reference);
  if (!notice) return undefined;
  const when = timesFor(await findReader(db.read, notice.user_id));
  const undone = outcomeOf(notice);
  const named = [...undone.device_names, ...undone.passkeys_removed, ...undone.keys_removed];
  const facts: Fact[] = [
    ...count('Browser sessions ended', undone.sessions_ended),
    ...count('Devices signed out', undone.devices_ended),
    ...undone.device_names.map((claimed) => ({ label: 'Device', claimed })),
    ...undone.passkeys_removed.map((claimed) => ({ label: 'Passkey removed', claimed })),
    ...undone.keys_removed.map((claimed) => ({ label: 'Key removed', claimed })),
    ...(undone.email === null ? [] : [{ label: 'Address restored', value: undone.email }]),
  ];
  const parts: Part[] = [
    `Someone used the “This wasn't me” link of a security notice about your ${product.name} account, sent ${when(notice.created_at)}.`,
    ...(facts.length === 0
      ? ['There was nothing left to undo: the session had already ended and had added nothing.']
      : ['This was undone:', { facts }]),
    ...(named.length === 0 ? [] : [quotesExplained]),
    ...(undone.email === null
      ? ['Your other sessions are not affected.']
      : ['Because the address was restored, every session of the account has ended.']),
    "Sign in and review your account: remove passkeys and sign out devices that you don't recognize.",
    "If this wasn't you, someone else can read your email: change the password of your mailbox.",
  ];
  return composeMessage(product, `What was undone in your ${product.name} account`, parts);
};
