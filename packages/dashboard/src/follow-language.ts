import { type Language, languageCookie, languageOf } from '@latchkey/contract/languages';
import { language } from './texts.ts';
import { leave } from './ui/busy.ts';

const isSecure = location.protocol === 'https:';
const cookieName = isSecure ? `__Host-${languageCookie}` : languageCookie;
const maxAgeSeconds = 31_536_000;

const remembered = (): string | undefined =>
  document.cookie
    .split('; ')
    .find((pair) => pair.startsWith(`${cookieName}=`))
    ?.slice(cookieName.length + 1);

/** The service reads this cookie to choose the language of a page. Without a language, the browser's own decides. */
function remember(wanted: Language | undefined): void {
  const maxAge = wanted === undefined ? 0 : maxAgeSeconds;
  // The Cookie Store API, which would replace this, is missing in browsers that the pages support.
  // biome-ignore lint/suspicious/noDocumentCookie: see above
  document.cookie = `${cookieName}=${wanted ?? ''}; Path=/; Max-Age=${maxAge}; SameSite=Lax${isSecure ? '; Secure' : ''}`;
}

/** The language that the service chooses without the cookie. */
const preferredByBrowser = (): Language =>
  navigator.languages.map((tag) => languageOf(tag)).find((found) => found !== undefined) ?? 'en';

/** Shows pages in this language from now on, after signing out, too. True if this page reloads for that. */
export function followLanguage(locale: string | null): boolean {
  const wanted = languageOf(locale);
  if (remembered() === wanted) return false;
  remember(wanted);
  if (remembered() !== wanted || (wanted ?? preferredByBrowser()) === language) return false;
  leave(() => location.reload());
  return true;
}
