import { type Language, languageOf } from '@latchkey/contract/languages';

/** More than browsers send. A longer header is ignored, so that reading one always takes little time. */
const maxHeaderLength = 1_000;

const qualityParameter = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i;

/** From 0, not acceptable, to 1. What is not a quality value counts as 0. */
function qualityOf(parameters: readonly string[]): number {
  const quality = parameters.find((parameter) => /^q=/i.test(parameter));
  return quality === undefined ? 1 : Number(qualityParameter.exec(quality)?.[1] ?? 0);
}

/**
 * Of our languages, the one that an `Accept-Language` header prefers; undefined if it accepts no supported language.
 * @see RFC 9110 section 12.5.4
 */
export function preferredLanguage(acceptLanguage: string | null): Language | undefined {
  if (acceptLanguage === null || acceptLanguage.length > maxHeaderLength) return undefined;
  const accepted = acceptLanguage.split(',').flatMap((range) => {
    const [tag, ...parameters] = range.split(';').map((part) => part.trim());
    const language = languageOf(tag);
    const quality = qualityOf(parameters);
    return language === undefined || quality === 0 ? [] : [{ language, quality }];
  });
  return accepted.toSorted((a, b) => b.quality - a.quality).at(0)?.language;
}
