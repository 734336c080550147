import { fillText, type Plural, pluralText } from '@latchkey/contract/texts';
import type { ComponentChildren } from 'preact';
import type { PageTexts } from './languages/all.ts';

declare global {
  /** Set by the script with the texts, which runs before the page's own script. */
  var latchkeyTexts: PageTexts;
}

/** What the service is called here. The service writes it into every page; unit tests have no page. */
const productName: string =
  globalThis.document?.querySelector('meta[name="application-name"]')?.getAttribute('content') ?? 'Latchkey';

/** What this page says, in the language that the service chose for it. */
export const texts: PageTexts = globalThis.latchkeyTexts;

/** The language of this page, as a BCP 47 tag. */
export const language = globalThis.document?.documentElement.lang ?? 'en';

/** Fills in the name of the product and what else a text has in braces. */
export const fill = (text: string, values: Readonly<Record<string, string>> = {}): string =>
  fillText(text, { ...values, product: productName });

export const sentences = (...parts: readonly string[]): string =>
  parts.reduce((first, second) => fill(texts.common.sentences, { first, second }));

/** A text for a number of things, with the number in it. */
export const counted = (forms: Plural, count: number): string => pluralText(language, forms, count);

/** Like `fill`, with elements such as links and names in place of the braces. */
export const fillParts = (
  text: string,
  parts: Readonly<Record<string, ComponentChildren>>,
): ComponentChildren[] =>
  text.split(/\{(\w+)\}/).map((part, index) => {
    if (index % 2 === 0) return part;
    return part === 'product' ? productName : parts[part];
  });
