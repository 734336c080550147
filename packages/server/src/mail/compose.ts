import { foreignText } from '@latchkey/contract/foreign-text';
import { escapeHtml, type Message } from './message.ts';

/** Something a mail tells, on a line of its own. `claimed` words are a stranger's, and shown as such. */
export type Fact =
  | { readonly label: string; readonly value: string }
  | { readonly label: string; readonly claimed: string };

/** A part of a mail: a paragraph, a list of facts, or a link, which in the text stands alone on a line. */
export type Part =
  | string
  | { readonly facts: readonly Fact[] }
  | { readonly link: string; readonly words: string };

/**
 * A stranger's words as a mail quotes them: cut, harmless, unable to close the quotes around them, and with no
 * address that a mail program would make into a link.
 */
export const claimedWords = (text: string): string =>
  foreignText(text)
    .replace(/\.(?=[^\s.\d])/gu, '[.]')
    .replaceAll('://', '[:]//');

/** How long a line of the text may be; facts and links stand as they are. */
const textColumns = 76;

const wrapped = (paragraph: string): string =>
  paragraph.replace(new RegExp(`(.{1,${textColumns}})(?: |$)`, 'g'), '$1\n').trimEnd();

const textOf = (part: Part): string => {
  if (typeof part === 'string') return wrapped(part);
  if ('link' in part) return part.link;
  return part.facts
    .map((fact) => `${fact.label}: ${'claimed' in fact ? `"${claimedWords(fact.claimed)}"` : fact.value}`)
    .join('\n');
};

const htmlOfFact = (fact: Fact): string =>
  'claimed' in fact
    ? `&#34;<bdi>${escapeHtml(claimedWords(fact.claimed))}</bdi>&#34;`
    : `<bdi>${escapeHtml(fact.value)}</bdi>`;

const htmlOf = (part: Part): string => {
  if (typeof part === 'string') return `<p>${escapeHtml(part)}</p>`;
  if ('link' in part) return `<p><a href="${escapeHtml(part.link)}">${escapeHtml(part.words)}</a></p>`;
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
    '<body style="font-family: system-ui, sans-serif; line-height: 1.5">',
    ...parts.map(htmlOf),
    '</body></html>',
  ].join('\n'),
});

/** A moment in a mail, whose reader's clock is not known: `2026-01-02 03:04 UTC`. */
export const utcMinute = (time: number): string =>
  `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
