import { languageOf } from '@latchkey/contract/languages';
import { fillText } from '@latchkey/contract/texts';
import type { TimePreferences } from '@latchkey/contract/time-format';
import type { Product } from '../config/product.ts';
import { timesFor } from './compose.ts';
import { mailTexts } from './texts/texts.ts';

/** Writes a mail in the language of its reader. */
export type Writer = ReturnType<typeof writerFor>;

/** Without a reader, or where the profile names none of our languages: English. */
export function writerFor(product: Product, reader: TimePreferences | undefined) {
  const language = languageOf(reader?.locale) ?? 'en';
  return {
    product,
    language,
    texts: mailTexts[language],
    /** Fills in the name of the product and what else a text has in braces. */
    fill: (text: string, values: Readonly<Record<string, string>> = {}) =>
      fillText(text, { ...values, product: product.name }),
    /** A moment as the reader writes it. */
    when: timesFor(reader),
  };
}
