import { type Language, languageOf } from '@latchkey/contract/languages';
import { fillText } from '@latchkey/contract/texts';
import type { TimePreferences } from '@latchkey/contract/time-format';
import type { Product } from '../config/product.ts';
import { timesFor } from './compose.ts';
import { type MailTexts, mailTexts } from './texts/texts.ts';

/** Writes a mail in the language of its reader. */
export interface Writer {
  readonly product: Product;
  readonly language: Language;
  readonly texts: MailTexts;
  /** Fills in the name of the product and what else a text has in braces. */
  fill(text: string, values?: Readonly<Record<string, string>>): string;
  /** A moment as the reader writes it. */
  when(time: number): string;
}

/** Without a reader, or where the profile names none of our languages: English. */
export function writerFor(product: Product, reader: TimePreferences | undefined): Writer {
  const language = languageOf(reader?.locale) ?? 'en';
  return {
    product,
    language,
    texts: mailTexts[language],
    fill: (text, values = {}) => fillText(text, { ...values, product: product.name }),
    when: timesFor(reader),
  };
}
