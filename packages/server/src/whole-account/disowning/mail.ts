import { composeMessage, type Fact, type Part } from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';
import { writerFor } from '../../platform/mail/writer.ts';
import { findDisownedNotice, findReader } from '../../security-log/notices/notices.ts';
import { outcomeOf } from './outcome.ts';

export const disownedTemplate = 'disowned';

const count = (label: string, number: number): Fact[] =>
  number === 0 ? [] : [{ label, value: String(number) }];

/** The mail to the owner about what the link of a notice undid. */
export const disownedMail: Template = async ({ config: { product }, db }, mail) => {
  const notice = await findDisownedNotice(db.read, mail.reference);
  if (!notice) return undefined;
  const writer = writerFor(product, await findReader(db.read, notice.user_id));
  const texts = writer.texts.disowned;
  const undone = outcomeOf(notice);
  const named = [...undone.device_names, ...undone.passkeys_removed, ...undone.keys_removed];
  const facts: Fact[] = [
    ...count(texts.sessions, undone.sessions_ended),
    ...count(texts.devices, undone.devices_ended),
    ...undone.device_names.map((claimed) => ({ label: texts.device, claimed })),
    ...undone.passkeys_removed.map((claimed) => ({ label: texts.passkey, claimed })),
    ...undone.keys_removed.map((claimed) => ({ label: texts.key, claimed })),
    ...(undone.email === null ? [] : [{ label: texts.address, value: undone.email }]),
  ];
  const parts: Part[] = [
    writer.fill(texts.what, { time: writer.when(notice.created_at) }),
    ...(facts.length === 0 ? [texts.nothing] : [texts.undone, { facts }]),
    ...(named.length === 0 ? [] : [writer.texts.quotesExplained]),
    undone.email === null ? texts.othersContinue : texts.allEnded,
    texts.review,
    texts.notYou,
  ];
  return composeMessage(writer, writer.fill(texts.subject), parts);
};
