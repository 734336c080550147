import { type Language, languageOf } from '@latchkey/contract/languages';
import { fillText } from '@latchkey/contract/texts';
import { offsetName, type TimePreferences, timeFormatOf, writeTime } from '@latchkey/contract/time-format';
import { untrustedText } from '@latchkey/contract/untrusted-text';
import { linksOf, type Product } from '../config/product.ts';
import { escapeHtml } from '../values/html.ts';
import { htmlDocument, styles } from './layout.ts';
import type { Message } from './message.ts';
import { mailTexts } from './texts/texts.ts';

/**
 * A labelled line of a mail. `claimed` text comes from an unverified client and is shown in quotes. An email
 * `address` may have been chosen by somebody else, so it does not become a link.
 */
export type Fact =
  | { readonly label: string; readonly value: string }
  | { readonly label: string; readonly address: string }
  | { readonly label: string; readonly claimed: string };

/** A part of a mail. In plain text, links and codes get their own line. */
export type Part =
  | string
  | { readonly facts: readonly Fact[] }
  | { readonly link: string; readonly words: string }
  | { readonly code: string };

/**
 * Untrusted text for use in quotes: truncated, without control characters or quotation marks, and with URLs
 * defanged so that mail programs do not turn them into links.
 */
export const quotedClaim = (text: string): string =>
  untrustedText(text)
    .replace(/\.(?=[^\s.\d])/gu, '[.]')
    .replaceAll('://', '[:]//');

/** No mail program recognizes an address whose dots are in brackets. */
const plainValue = (fact: Exclude<Fact, { claimed: string }>): string =>
  'address' in fact ? fact.address.replaceAll('.', '[.]') : fact.value;

/** The line width of plain text paragraphs. Facts and links are not wrapped. */
const textColumns = 76;

/** Japanese is not wrapped: its few spaces are no good places, and its characters are two columns wide. */
const wrap = (paragraph: string, language: Language): string =>
  language === 'ja'
    ? paragraph
    : paragraph.replace(new RegExp(`(.{1,${textColumns}})(?: |$)`, 'g'), '$1\n').trimEnd();

const textOf = (part: Part, language: Language): string => {
  if (typeof part === 'string') return wrap(part, language);
  if ('link' in part) return part.link;
  if ('code' in part) return part.code;
  const { labelled, quoted } = mailTexts[language];
  const written = (fact: Fact) =>
    'claimed' in fact ? fillText(quoted, { text: quotedClaim(fact.claimed) }) : plainValue(fact);
  return part.facts.map((fact) => fillText(labelled, { label: fact.label, value: written(fact) })).join('\n');
};

const htmlOfFact = (fact: Fact, language: Language): string =>
  'claimed' in fact
    ? fillText(escapeHtml(mailTexts[language].quoted), {
        text: `<bdi>${escapeHtml(quotedClaim(fact.claimed))}</bdi>`,
      })
    : `<bdi>${escapeHtml(plainValue(fact))}</bdi>`;

const htmlOf = (part: Part, language: Language): string => {
  if (typeof part === 'string') return `<p style="${styles.paragraph}">${escapeHtml(part)}</p>`;
  if ('link' in part) {
    return `<p style="${styles.paragraph}"><a href="${escapeHtml(part.link)}" style="${styles.link}">${escapeHtml(part.words)}</a></p>`;
  }
  if ('code' in part) return `<p class="code" style="${styles.code}">${escapeHtml(part.code)}</p>`;
  const rows = part.facts.map(
    (fact) =>
      `<tr><td class="muted" style="${styles.label}">${escapeHtml(fact.label)}</td>` +
      `<td style="${styles.value}">${htmlOfFact(fact, language)}</td></tr>`,
  );
  return `<table style="${styles.facts}">\n${rows.join('\n')}\n</table>`;
};

const htmlFooter = (links: ReturnType<typeof linksOf>): string[] => {
  const anchors = links.map(
    ({ words, url }) =>
      `<a class="muted" href="${escapeHtml(url)}" style="${styles.footerLink}">${escapeHtml(words)}</a>`,
  );
  return links.length === 0 ? [] : [`<p class="muted" style="${styles.footer}">${anchors.join(' · ')}</p>`];
};

/**
 * Composes a mail from its parts, with the same content as plain text and HTML. The subject must not contain
 * untrusted text, and neither must the preheader, which is the first paragraph unless a better one is given.
 */
export function composeMessage(
  { product, language }: Pick<Writer, 'product' | 'language'>,
  subject: string,
  parts: readonly Part[],
  preheader: string = parts.find((part) => typeof part === 'string') ?? '',
): Message {
  const links = linksOf(product, mailTexts[language]);
  // Each link follows its words, so that only the link that a mail is about has a line of its own.
  const footer = { facts: links.map(({ words, url }) => ({ label: words, value: url })) };
  const texts = links.length === 0 ? parts : [...parts, footer];
  return {
    subject,
    text: `${texts.map((part) => textOf(part, language)).join('\n\n')}\n`,
    html: htmlDocument(product, {
      language,
      subject,
      preheader,
      body: parts.map((part) => htmlOf(part, language)),
      footer: htmlFooter(links),
    }),
  };
}

/** For English without a region. It is unambiguous, unlike American English: month names and 24 hours. */
const defaultLocale = 'en-GB';
const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;

/** In the format of the reader's profile, with the difference from UTC; else `2 Jan 2026, 03:04 UTC`. */
export function timesFor(reader: TimePreferences | undefined): (time: number) => string {
  const { locale = 'en', timeZone = 'UTC' } = timeFormatOf(reader ?? { locale: null, time_zone: null });
  return (time) => {
    const moment = new Date(time);
    const text = writeTime(
      moment,
      { locale: locale === 'en' ? defaultLocale : locale, timeZone },
      { dateStyle: 'medium', timeStyle: 'short' },
    );
    // Narrow and no-break spaces look broken in plain text of some mail programs.
    const written = `${text.replace(/\p{Zs}/gu, ' ')} ${offsetName(moment, timeZone)}`;
    // Isolated, so that it does not reorder the sentence around it.
    return rightToLeft.test(written) ? `\u2068${written}\u2069` : written;
  };
}

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
