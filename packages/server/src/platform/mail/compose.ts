import { offsetName, type TimePreferences, timeFormatOf, writeTime } from '@latchkey/contract/time-format';
import { untrustedText } from '@latchkey/contract/untrusted-text';
import type { Product } from '../config/product.ts';
import { escapeHtml } from '../values/html.ts';
import type { Message } from './message.ts';

/** A labelled line of a mail. `claimed` text comes from an unverified client and is shown in quotes. */
export type Fact =
  | { readonly label: string; readonly value: string }
  | { readonly label: string; readonly claimed: string };

/** A part of a mail: a paragraph, a list of facts, a link or a code. In plain text, links and codes get their own line. */
export type Part =
  | string
  | { readonly facts: readonly Fact[] }
  | { readonly link: string; readonly words: string }
  | { readonly code: string };

/**
 * Untrusted text for use in quotes: truncated, without control characters or double quotes, and with URLs defanged so
 * that mail programs do not turn them into links.
 */
export const quotedClaim = (text: string): string =>
  untrustedText(text)
    .replace(/\.(?=[^\s.\d])/gu, '[.]')
    .replaceAll('://', '[:]//');

/** Explains the quotes around claimed text. */
export const quotesExplained = 'Text in quotes comes from the program or person and has not been verified.';

/** The line width of plain text paragraphs. Facts and links are not wrapped. */
const textColumns = 76;

const wrap = (paragraph: string): string =>
  paragraph.replace(new RegExp(`(.{1,${textColumns}})(?: |$)`, 'g'), '$1\n').trimEnd();

const textOf = (part: Part): string => {
  if (typeof part === 'string') return wrap(part);
  if ('link' in part) return part.link;
  if ('code' in part) return part.code;
  return part.facts
    .map((fact) => `${fact.label}: ${'claimed' in fact ? `"${quotedClaim(fact.claimed)}"` : fact.value}`)
    .join('\n');
};

const htmlOfFact = (fact: Fact): string =>
  'claimed' in fact
    ? `&#34;<bdi>${escapeHtml(quotedClaim(fact.claimed))}</bdi>&#34;`
    : `<bdi>${escapeHtml(fact.value)}</bdi>`;

/** Styles are inline because mail programs drop style sheets. Text and background colors are theirs, for dark mode. */
const styles = {
  body: 'max-width: 36em; margin: 0 auto; padding: 1em; font: 16px/1.5 system-ui, sans-serif',
  link: 'display: inline-block; padding: 0.6em 1.1em; border-radius: 0.5em; background: #0b57b4; color: #ffffff; font-weight: 600; text-decoration: none',
  code: 'font: 700 1.75em/1.5 ui-monospace, monospace; letter-spacing: 0.06em',
  logo: 'height: 32px; max-width: 12em; vertical-align: middle',
  footer: 'margin-top: 2em; font-size: 0.9em',
};

const htmlOf = (part: Part): string => {
  if (typeof part === 'string') return `<p>${escapeHtml(part)}</p>`;
  if ('link' in part) {
    return `<p><a href="${escapeHtml(part.link)}" style="${styles.link}">${escapeHtml(part.words)}</a></p>`;
  }
  if ('code' in part) return `<p style="${styles.code}">${escapeHtml(part.code)}</p>`;
  const rows = part.facts.map(
    (fact) =>
      `<tr><td style="padding-right: 1em; vertical-align: top; white-space: nowrap">${escapeHtml(fact.label)}</td>` +
      `<td style="overflow-wrap: anywhere">${htmlOfFact(fact)}</td></tr>`,
  );
  return `<table style="border-spacing: 0">\n${rows.join('\n')}\n</table>`;
};

/** The Content-ID of the logo, which the transport attaches to every mail. @see RFC 2392 */
export const logoContentId = 'logo@product';

/** The logo as a mail can carry it: mail programs show PNG images, but hardly any shows SVG. */
export const mailLogo = ({ logo }: Product) => (logo?.type === 'image/png' ? logo : undefined);

const htmlHeader = (product: Product): string[] =>
  mailLogo(product) === undefined
    ? []
    : [
        `<p><img src="cid:${logoContentId}" alt="" height="32" style="${styles.logo}"> <strong>${escapeHtml(product.name)}</strong></p>`,
      ];

/** The links of the product, with their words. */
const footerOf = ({ name, url, supportUrl }: Product): { words: string; url: string }[] => [
  ...(url === undefined ? [] : [{ words: name, url }]),
  ...(supportUrl === undefined ? [] : [{ words: 'Help', url: supportUrl }]),
];

/** Each link follows its words, so that only the link that a mail is about has a line of its own. */
const textFooter = (product: Product): string[] => {
  const links = footerOf(product);
  return links.length === 0 ? [] : [links.map(({ words, url }) => `${words}: ${url}`).join('\n')];
};

const htmlFooter = (product: Product): string[] => {
  const links = footerOf(product).map(
    ({ words, url }) => `<a href="${escapeHtml(url)}">${escapeHtml(words)}</a>`,
  );
  return links.length === 0 ? [] : [`<p style="${styles.footer}">${links.join(' · ')}</p>`];
};

/** Composes a mail from its parts, with the same content as plain text and HTML. The subject must not contain untrusted text. */
export const composeMessage = (product: Product, subject: string, parts: readonly Part[]): Message => ({
  subject,
  text: `${[...parts.map(textOf), ...textFooter(product)].join('\n\n')}\n`,
  html: [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(subject)}</title>`,
    `<meta name="color-scheme" content="light dark"><body style="${styles.body}">`,
    ...htmlHeader(product),
    ...parts.map(htmlOf),
    ...htmlFooter(product),
    '</body></html>',
  ].join('\n'),
});

/** Unambiguous, unlike the American one: the name of the month, and 24 hours. */
const defaultLocale = 'en-GB';
const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;

/**
 * Writes times as the profile of the person who reads a mail asks for, with their difference from UTC. Without a reader,
 * or where the profile leaves it open: `2 Jan 2026, 03:04 UTC`.
 */
export function timesFor(reader: TimePreferences | undefined): (time: number) => string {
  const { locale = defaultLocale, timeZone = 'UTC' } = timeFormatOf(
    reader ?? { locale: null, time_zone: null },
  );
  return (time) => {
    const moment = new Date(time);
    const text = writeTime(moment, { locale, timeZone }, { dateStyle: 'medium', timeStyle: 'short' });
    // Narrow and no-break spaces look broken in plain text of some mail programs.
    const written = `${text.replace(/\p{Zs}/gu, ' ')} ${offsetName(moment, timeZone)}`;
    // Isolated, so that it does not reorder the English sentence around it.
    return rightToLeft.test(written) ? `\u2068${written}\u2069` : written;
  };
}
