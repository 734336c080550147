import { untrustedText } from '@latchkey/contract/untrusted-text';
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

/** Composes a mail from its parts, with the same content as plain text and HTML. The subject must not contain untrusted text. */
export const composeMessage = (subject: string, parts: readonly Part[]): Message => ({
  subject,
  text: `${parts.map(textOf).join('\n\n')}\n`,
  html: [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(subject)}</title>`,
    `<meta name="color-scheme" content="light dark"><body style="${styles.body}">`,
    ...parts.map(htmlOf),
    '</body></html>',
  ].join('\n'),
});

/** A time as mails show it, in UTC because the reader's time zone is unknown: `2026-01-02 03:04 UTC`. */
export const utcMinute = (time: number): string =>
  `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
