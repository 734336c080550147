import { languageOf } from '@latchkey/contract/languages';
import type { TimePreferences } from '@latchkey/contract/time-format';
import type { Context } from '../../platform/context.ts';
import { mintHandle } from '../../platform/crypto/handle.ts';
import { composeMessage, type Writer, writerFor } from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';
import { findOwner } from '../../security-log/notices/notices.ts';
import { findAccountOf, isEmailTaken } from '../account/account.ts';
import * as store from './store.ts';

export const emailChangeTemplate = 'email_change';
export const emailRestoredTemplate = 'email_restored';

/**
 * The mail to a new address. Whether another account has it is checked only here, so that no response depends
 * on it; if so, the mail holds no link. It quotes nothing from the account but its language: it may reach a
 * stranger.
 */
export const emailChangeMail: Template = async (ctx, mail) => {
  const [change] = await store.findChange(ctx.db.read, { id: mail.reference });
  if (!change) return undefined;
  if (await isEmailTaken(ctx, ctx.db.read, change.new_email, change.user_id)) {
    const owner = inLanguageOf(ctx, await findAccountOf(ctx.db.read, change.new_email));
    const { subject, what, unchanged, wasYou } = owner.texts.emailTaken;
    return composeMessage(owner, subject, [owner.fill(what), unchanged, wasYou]);
  }
  const subject = Buffer.from(change.id, 'base64url');
  const token = mintHandle(ctx.keys, 'emailChange', { subject, value: change.expires_at });
  const writer = inLanguageOf(ctx, await findOwner(ctx.db.read, change.user_id));
  const { texts, fill } = writer;
  return composeMessage(writer, fill(texts.emailChange.subject), [
    fill(texts.emailChange.openLink),
    { link: `${ctx.config.baseUrl}/verify-email#token=${token}`, words: texts.emailChange.link },
    fill(texts.emailChange.expires, { time: writer.when(change.expires_at) }),
    texts.emailChange.notYou,
  ]);
};

/** Writes in the language of a reader, but with neither their time zone nor the dates of their region. */
function inLanguageOf({ config }: Context, reader: TimePreferences | undefined): Writer {
  const language = languageOf(reader?.locale) ?? 'en';
  return writerFor(config.product, { locale: language, time_zone: null });
}

/**
 * The mail to an address that an undo removed from an account. It is in the language of the mail by which
 * that address was confirmed, and reveals as little: the address most likely belongs to another person.
 */
export const emailRestoredMail: Template = async (ctx, mail) => {
  const [change] = await store.findChange(ctx.db.read, { id: mail.reference });
  const writer = inLanguageOf(ctx, change && (await findOwner(ctx.db.read, change.user_id)));
  const { subject, what, owner } = writer.texts.emailRestored;
  return composeMessage(writer, writer.fill(subject), [writer.fill(what), owner]);
};
