/** The languages of pages and emails, as BCP 47 tags. English is the reference and the fallback. */
export const languages = ['en', 'de', 'fr', 'es', 'pt-BR', 'ja'] as const;

export type Language = (typeof languages)[number];

/** The cookie with the language of pages, one of `languages`. Over HTTPS, its name has a prefix. */
export const languageCookie = 'latchkey_language';

const byTag = new Map<string, Language>(languages.map((language) => [language.toLowerCase(), language]));
// The only Portuguese there is also serves those who ask for another one.
byTag.set('pt', 'pt-BR');

/** The first language that matches a tag cut from its end, if any does. @see RFC 4647 section 3.4 */
export function languageOf(tag: string | null | undefined): Language | undefined {
  const subtags = (tag ?? '').trim().toLowerCase().split('-');
  for (let length = subtags.length; length > 0; length--) {
    const found = byTag.get(subtags.slice(0, length).join('-'));
    if (found !== undefined) return found;
  }
  return undefined;
}
