import { type Language, languageCookie, languages } from '@latchkey/contract/languages';
import type { Config } from '../config/config.ts';
import { knownBrowserTtlSeconds } from '../values/lifetimes.ts';

export type Transport = Pick<Config, 'https'>;

const names = {
  session: 'latchkey_session',
  knownBrowser: 'latchkey_browser',
  /** When authorization requests came. */
  requests: 'latchkey_requests',
  /** Of the pages, as the account page stores it. */
  language: languageCookie,
};

type CookieKind = keyof typeof names;

/** As long as signing in may take. */
const requestsMaxAgeSeconds = 3_600;

/** Over HTTPS, the `__Host-` prefix binds a cookie to this host and to secure connections. */
export const cookieName = (config: Transport, kind: CookieKind): string =>
  config.https ? `__Host-${names[kind]}` : names[kind];

/** The value of a cookie. A duplicate counts as none: it may have been planted from a sibling domain. */
export function readCookie(config: Transport, kind: CookieKind, header: string | null): string | undefined {
  if (!header) return undefined;
  const prefix = `${cookieName(config, kind)}=`;
  const found = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  return found.length === 1 ? found[0]?.slice(prefix.length) : undefined;
}

/** The language of the pages in this browser. Only the names of languages are read. */
export function readLanguageCookie(config: Transport, header: string | null): Language | undefined {
  const value = readCookie(config, 'language', header);
  return languages.find((language) => language === value);
}

/** The `Set-Cookie` header that sets a cookie, or clears it if the value is empty. Scripts cannot read it. */
export function cookieHeader(config: Config, kind: Exclude<CookieKind, 'language'>, value: string): string {
  const lifetimesSeconds = {
    session: config.refreshIdleTtlSeconds,
    knownBrowser: knownBrowserTtlSeconds,
    requests: requestsMaxAgeSeconds,
  };
  const maxAge = value === '' ? 0 : lifetimesSeconds[kind];
  const sameSite = kind === 'knownBrowser' ? 'Strict' : 'Lax';
  return `${cookieName(config, kind)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=${sameSite}${config.https ? '; Secure' : ''}`;
}
