import { type Language, languageOf } from '@latchkey/contract/languages';
import type { Context } from '../../platform/context.ts';
import { subjectBytes } from '../../platform/crypto/handle.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import type { Executor } from '../../platform/database/executor.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { enqueueMail, type Mail } from '../../platform/mail/outbox.ts';
import { type Writer, writerFor } from '../../platform/mail/writer.ts';
import { findReader } from './store.ts';

/** How long mails to the owner of an account also come in the language that it had before. */
const formerLanguageTtlMs = 7 * 86_400_000;

type Owner = Pick<Tables['users'], 'locale' | 'former_languages'>;

/** The language of the mails to the owner of an account. */
export const languageOfOwner = ({ locale }: Pick<Owner, 'locale'>): Language => languageOf(locale) ?? 'en';

/** The other languages that the account had until a few days ago: a thief with a token may have chosen the current one. */
function formerLanguages(owner: Owner, now: number): Language[] {
  const left = Object.entries(JSON.parse(owner.former_languages ?? '{}') as Record<Language, number>);
  return left
    .filter(([language, leftAt]) => leftAt > now - formerLanguageTtlMs && language !== languageOfOwner(owner))
    .map(([language]) => language as Language);
}

/** Adds a mail to the owner of an account to the outbox, and one more for each former language. */
export async function enqueueForOwner(ctx: Context, tx: Executor, owner: Owner, mail: Mail): Promise<void> {
  await enqueueMail(ctx, tx, mail);
  for (const language of formerLanguages(owner, ctx.clock())) {
    const id = mail.id === undefined ? {} : { id: mailIdOf(mail.id, language) };
    await enqueueMail(ctx, tx, { ...mail, ...id, reference: `${mail.reference} ${language}` });
  }
}

/** The id of a mail in the outbox that is the same for the same parts. */
export const mailIdOf = (...parts: string[]): string =>
  `mail_${sha256('mail', ...parts)
    .subarray(0, subjectBytes)
    .toString('base64url')}`;

/** What a mail to the owner of an account refers to, and the former language that it is in, if it is. */
export function referenceOf({ reference: text }: Pick<Mail, 'reference'>) {
  const [reference = '', language] = text.split(' ');
  return { reference, language: language as Language | undefined };
}

/** Writes to the owner of an account, in another language if one is given. */
export async function writerForOwner(
  ctx: Context,
  userId: string,
  language?: Language | null,
): Promise<Writer> {
  const [owner] = await findReader(ctx.db.read, { id: userId });
  const isOther = owner && language && language !== languageOfOwner(owner);
  return writerFor(ctx.config.product, isOther ? { ...owner, locale: language } : owner);
}
