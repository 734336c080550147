import { escapeHtml } from '../../values/html.ts';
import { codeBlock, type Language, prose } from './markup.ts';

/** A section of a page that is not about one endpoint. */
export interface Topic {
  readonly id: string;
  readonly title: string;
  /** Paragraphs and tables, as HTML. */
  readonly text: string;
  readonly examples?: string;
}

export const paragraphs = (...texts: readonly string[]): string =>
  texts.map((text) => `<p>${prose(text)}</p>`).join('\n');

export const example = (caption: string, code: string, language: Language): string =>
  codeBlock({ code, language, caption });

export const topicSection = ({
  id,
  title,
  text,
  examples,
}: Topic): string => `<section id="${id}" aria-labelledby="${id}-title">
<div class="text"><h2 id="${id}-title"><a href="#${id}">${escapeHtml(title)}</a></h2>
${text}</div>
${examples === undefined ? '' : `<div class="examples">${examples}</div>`}
</section>`;

export function table(
  caption: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const head = columns.map((column) => `<th scope="col">${escapeHtml(column)}</th>`).join('');
  const body = rows.map(
    ([first = '', ...rest]) =>
      `<tr><th scope="row">${prose(first)}</th>${rest.map((cell) => `<td>${prose(cell)}</td>`).join('')}</tr>`,
  );
  return `<table><caption class="visually-hidden">${escapeHtml(caption)}</caption><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}
