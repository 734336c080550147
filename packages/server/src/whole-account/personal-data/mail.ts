import { composeMessage } from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';
import { writerFor } from '../../platform/mail/writer.ts';

export const accountDeletedTemplate = 'account_deleted';

/** The last mail to a deleted account. There is no row left to fill it from: its reference is the language of its reader. */
export const accountDeletedMail: Template = async ({ config: { product } }, { reference: locale }) => {
  const writer = writerFor(product, { locale, time_zone: null });
  const { subject, what, next } = writer.texts.accountDeleted;
  return composeMessage(writer, writer.fill(subject), [writer.fill(what), next]);
};
