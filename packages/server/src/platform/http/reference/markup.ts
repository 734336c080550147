import { escapeHtml } from '../../values/html.ts';

/** A text in which what is in backticks is code. */
export const prose = (text: string): string =>
  escapeHtml(text).replace(/&#96;|`([^`]+)`/g, (_, code: string) => `<code>${code}</code>`);

/** A path or name that can wrap at its slashes, dots and underscores. */
export const breakable = (text: string): string => escapeHtml(text).replace(/(?<=.)([/_.])/g, '<wbr>$1');

export const verb = (method: string): string => `<span class="verb ${method}">${method.toUpperCase()}</span>`;

/** A language that the examples are written in. `text` is shown as it is. */
export type Language = 'json' | 'shell' | 'script' | 'text';

const colored: Readonly<Record<Language, RegExp | undefined>> = {
  json: /(?<key>"(?:[^"\\]|\\.)*")(?=:)|(?<string>"(?:[^"\\]|\\.)*")|(?<value>\b(?:true|false|null|-?\d[\d.]*)\b)/g,
  shell: /(?<string>'[^']*'|"[^"]*")|(?<key>\bcurl\b|(?<=\s)-{1,2}[A-Za-z][\w-]*)/g,
  script:
    /(?<comment>\/\/.*)|(?<string>'[^']*'|`[^`]*`)|(?<key>\b(?:import|from|const|await|new|if|return)\b)|(?<value>\b(?:true|false|null|\d[\d_]*)\b)/g,
  text: undefined,
};

/** Code as HTML, with a class for each part that has a color. */
function highlight(code: string, language: Language): string {
  const pattern = colored[language];
  if (pattern === undefined) return escapeHtml(code);
  let html = '';
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const [name] = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined) ?? [''];
    html += `${escapeHtml(code.slice(end, match.index))}<span class="${name}">${escapeHtml(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(end));
}

/** A block of code below a caption. The script of the page adds a button that copies it. */
export const example = (caption: string, code: string, language: Language): string =>
  `<figure class="code"><figcaption>${escapeHtml(caption)}</figcaption><pre tabindex="0"><code>${highlight(code, language)}</code></pre></figure>`;

export interface Tab {
  /** The choice is remembered by it: choosing it once chooses it everywhere on the pages. */
  readonly title: string;
  readonly html: string;
}

/** Blocks of which one is shown at a time. Radio buttons, so that they work without a script. */
export function tabs(id: string, legend: string, all: readonly Tab[]): string {
  const [only] = all;
  if (all.length === 1) return only!.html;
  const choices = all.map(
    ({ title }, index) =>
      `<input type="radio" name="${id}" id="${id}-${index}" value="${escapeHtml(title)}"${index === 0 ? ' checked' : ''}><label for="${id}-${index}">${escapeHtml(title)}</label>`,
  );
  const panels = all.map(({ html }) => `<div class="panel">${html}</div>`);
  return `<fieldset class="tabs"><legend class="visually-hidden">${escapeHtml(legend)}</legend>${choices.join('')}${panels.join('')}</fieldset>`;
}
