import { type Language, languageOf } from '@latchkey/contract/languages';

interface Range {
  readonly name: string;
  readonly quality: number;
}

const qualityParameter = /^q=(0?(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** What an `Accept` header lists, in its order; 0 for an invalid quality. @see RFC 9110 section 12.4.2 */
export const rangesOf = (accept: string): Range[] =>
  accept.split(',').map((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return { name, quality: quality === undefined ? 1 : Number(qualityParameter.exec(quality)?.[1]) || 0 };
  });

/** Whether an `Accept` header names this media type and does not prefer JSON. @see RFC 9110 section 12.5.1 */
export function prefers(accept: string | null, type: string): boolean {
  const ranges = rangesOf(accept ?? '');
  const qualityOf = (wanted: string) => ranges.find(({ name }) => name === wanted)?.quality ?? 0;
  const quality = qualityOf(type);
  return quality > 0 && quality >= qualityOf('application/json');
}

/** The rank and quality of the first of these ranges, listed most specific first, that the header names. */
function preferenceFor(ranges: readonly Range[], names: readonly string[]) {
  for (const [rank, name] of names.entries()) {
    const range = ranges.find((one) => one.name === name);
    if (range) return { rank, quality: range.quality };
  }
  return { rank: names.length, quality: 0 };
}

/**
 * Whether an `Accept` header prefers HTML to JSON. At equal quality, the more specific range wins. If both
 * are equally specific, JSON wins, so that the wildcard that most programs send gets JSON.
 * @see RFC 9110 section 12.5.1
 */
export function prefersHtml(accept: string | null): boolean {
  const ranges = rangesOf(accept ?? '');
  const html = preferenceFor(ranges, ['text/html', 'text/*', '*/*']);
  const json = preferenceFor(ranges, ['application/json', 'application/*', '*/*']);
  if (html.quality !== json.quality) return html.quality > json.quality;
  return html.quality > 0 && html.rank < json.rank;
}

/** More than browsers send. A longer header is ignored, so that reading one always takes little time. */
const maxLanguagesLength = 1_000;

/** The supported language that an `Accept-Language` header prefers, if any. @see RFC 9110 section 12.5.4 */
export function preferredLanguage(acceptLanguage: string | null): Language | undefined {
  if (acceptLanguage === null || acceptLanguage.length > maxLanguagesLength) return undefined;
  const accepted = rangesOf(acceptLanguage).filter(({ name, quality }) => quality > 0 && languageOf(name));
  return languageOf(accepted.toSorted((a, b) => b.quality - a.quality).at(0)?.name);
}
