import { escapeHtml } from '../../values/html.ts';

/** A text in which what is in backticks is code. Names in it can wrap. */
export const prose = (text: string): string =>
  escapeHtml(text).replace(
    /`([^`]+)`/g,
    (_, code: string) => `<code>${/^\w+$/.test(code) ? breakable(code) : code}</code>`,
  );

export const paragraphs = (texts: readonly string[]): string =>
  texts.map((text) => `<p>${prose(text)}</p>`).join('\n');

/** HTML that can wrap at slashes, dots and underscores. */
export const breakable = (html: string): string => html.replace(/(?<=.)([/_.])/g, '<wbr>$1');

export function table(rows: readonly (readonly string[])[]): string {
  const items = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${prose(cell)}</td>`).join('')}</tr>`);
  return items.length === 0 ? '' : `<table>${items.join('')}</table>`;
}

const strings = /("(?:[^"\\]|\\.)*":?|'[^']*')/;

/** A block of code below a caption, with its strings in color. The script of the page adds a button that copies it. */
export function example(caption: string, code: string): string {
  const parts = code.split(strings).map((part, index) => {
    const isString = index % 2 === 1 && !part.endsWith(':');
    return isString ? `<span>${escapeHtml(part)}</span>` : escapeHtml(part);
  });
  return `<figure><figcaption>${escapeHtml(caption)}</figcaption><pre tabindex="0"><code>${parts.join('')}</code></pre></figure>`;
}

export interface Section {
  readonly id: string;
  readonly title: string;
  /** On one side, as HTML. */
  readonly text: string;
  /** On the other, as HTML. */
  readonly examples: string;
}

/** @param level of its heading */
export function sectionHtml({ id, title, text, examples }: Section, level: number): string {
  return `<section id="${id}" aria-labelledby="${id}-title">
<div class="text"><h${level} id="${id}-title"><a href="#${id}">${escapeHtml(title)}</a></h${level}>
${text}</div>
<div class="examples">${examples}</div>
</section>`;
}
