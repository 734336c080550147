import { composeMessage, type Fact, type Part, writerFor } from '../platform/mail/compose.ts';
import type { Template } from '../platform/mail/message.ts';
import { findDisownedNotice, referenceOf, writerForOwner } from '../security-log/notices/notices.ts';
import { readUndone } from './outcome.ts';

export const disownedTemplate = 'disowned';
export const accountDeletedTemplate = 'account_deleted';

const count = (label: string, number: number): Fact[] =>
  number === 0 ? [] : [{ label, value: String(number) }];

/** The mail to the owner about what the link of a notice undid. */
export const disownedMail: Template = async (ctx, mail) => {
  const { reference, language } = referenceOf(mail);
  const notice = await findDisownedNotice(ctx.db.read, reference);
  if (!notice) return undefined;
  const writer = await writerForOwner(ctx, notice.user_id, language);
  const texts = writer.texts.disowned;
  const undone = readUndone(notice.outcome);
  const named = [...undone.device_names, ...undone.passkeys_removed, ...undone.keys_removed];
  const facts: Fact[] = [
    ...count(texts.sessions, undone.sessions_ended),
    ...count(texts.devices, undone.devices_ended),
    ...undone.device_names.map((claimed) => ({ label: texts.device, claimed })),
    ...undone.passkeys_removed.map((claimed) => ({ label: texts.passkey, claimed })),
    ...undone.keys_removed.map((claimed) => ({ label: texts.key, claimed })),
    ...count(texts.runs, undone.runs_ended),
    ...count(texts.links, undone.links_voided),
    ...(undone.email === null ? [] : [{ label: texts.address, value: undone.email }]),
  ];
  const parts: Part[] = [
    writer.fill(texts.what, { time: writer.when(notice.created_at) }),
    ...(facts.length === 0 ? [texts.nothing] : [texts.undone, { facts }]),
    ...(named.length === 0 ? [] : [writer.texts.quotesExplained]),
    undone.email === null ? texts.olderContinue : texts.allEnded,
    texts.review,
    texts.notYou,
  ];
  return composeMessage(writer, writer.fill(texts.subject), parts);
};

/** The last mail to a deleted account. There is no row left to fill it from: its reference is the language of its reader. */
export const accountDeletedMail: Template = async ({ config: { product } }, { reference: locale }) => {
  const writer = writerFor(product, { locale, time_zone: null });
  const { subject, what, next } = writer.texts.accountDeleted;
  return composeMessage(writer, writer.fill(subject), [writer.fill(what), next]);
};
