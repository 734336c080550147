import { untrustedText } from '@latchkey/contract/untrusted-text';
import { escapeHtml } from '../values/html.ts';
import type { Message } from './message.ts';

/** Something a mail tells, on a line of its own. `claimed` words are a stranger's, and shown as such. */
export type Fact =
  | { readonly label: string; readonly value: string }
  | { readonly label: string; readonly claimed: string };

/** A part of a mail: a paragraph, a list of facts, or a link or code, which in the text stands alone on a line. */
export type Part =
  | string
  | { readonly facts: readonly Fact[] }
  | { readonly link: string; readonly words: string }
  | { readonly code: string };

/**
 * A stranger's words as a mail quotes them: cut, harmless, unable to close the quotes around them, and with no
 * address that a mail program would make into a link.
 */
export const quotedClaim = (text: string): string =>
  untrustedText(text)
    .replace(/\.(?=[^\s.\d])/gu, '[.]')
    .replaceAll('://', '[:]//');

/** How long a line of the text may be; facts and links stand as they are. */
const textColumns = 76;

const wrapped = (paragraph: string): string =>
  paragraph.replace(new RegExp(`(.{1,${textColumns}})(?: |$)`, 'g'), '$1\n').trimEnd();

const textOf = (part: Part): string => {
  if (typeof part === 'string') return wrapped(part);
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

/** Styles stand in the elements: mail programs drop style sheets. Colours are left to them where they may be dark. */
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

/** A mail from its parts, the same words as text and as HTML. The subject never holds a stranger's words. */
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

/** A moment in a mail, whose reader's clock is not known: `2026-01-02 03:04 UTC`. */
export const utcMinute = (time: number): string =>
  `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
