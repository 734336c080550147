import { type Language, languageCookie, languages } from '@latchkey/contract/languages';
import type { Config } from '../config/config.ts';
import { knownBrowserTtlSeconds } from '../values/lifetimes.ts';

export type Transport = Pick<Config, 'https'>;

/** Over HTTPS, the `__Host-` prefix binds a cookie to this host and to secure connections. */
const cookieName = (config: Transport, name: string): string => (config.https ? `__Host-${name}` : name);

const sessionName = 'latchkey_session';
const knownBrowserName = 'latchkey_browser';
const requestsName = 'latchkey_requests';

/** As long as signing in may take. */
const requestsMaxAgeSeconds = 3_600;

export const sessionCookieName = (config: Config): string => cookieName(config, sessionName);

/** A duplicate counts as none: it may have been planted from a sibling domain. */
function readCookie(config: Transport, name: string, header: string | null): string | undefined {
  if (!header) return undefined;
  const prefix = `${cookieName(config, name)}=`;
  const found = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  return found.length === 1 ? found[0]?.slice(prefix.length) : undefined;
}

/** The value of the session cookie, if the request has exactly one. */
export const readSessionCookie = (config: Config, header: string | null): string | undefined =>
  readCookie(config, sessionName, header);

/** The value of the known-browser cookie, if the request has exactly one. */
export const readKnownBrowserCookie = (config: Config, header: string | null): string | undefined =>
  readCookie(config, knownBrowserName, header);

/** The value of the cookie of authorization requests, if the request has exactly one. */
export const readRequestsCookie = (config: Config, header: string | null): string | undefined =>
  readCookie(config, requestsName, header);

/** The language of the pages in this browser, as the account page stores it. Only the names of languages are read. */
export function readLanguageCookie(config: Transport, header: string | null): Language | undefined {
  const value = readCookie(config, languageCookie, header);
  return languages.find((language) => language === value);
}

const attributes = (config: Config, maxAgeSeconds: number, sameSite: 'Lax' | 'Strict'): string =>
  `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${config.https ? '; Secure' : ''}`;

/** The `Set-Cookie` header that sets the session cookie for the idle timeout, or clears it if there is no value. */
export function sessionCookieHeader(config: Config, value: string | undefined): string {
  const maxAge = value === undefined ? 0 : config.refreshIdleTtlSeconds;
  return `${cookieName(config, sessionName)}=${value ?? ''}; ${attributes(config, maxAge, 'Lax')}`;
}

/** The `Set-Cookie` header that makes this a known browser. */
export const knownBrowserCookieHeader = (config: Config, value: string): string =>
  `${cookieName(config, knownBrowserName)}=${value}; ${attributes(config, knownBrowserTtlSeconds, 'Strict')}`;

/** The `Set-Cookie` header that keeps when authorization requests came, or clears that if there is none. */
export const requestsCookieHeader = (config: Config, value: string): string =>
  `${cookieName(config, requestsName)}=${value}; ${attributes(config, value === '' ? 0 : requestsMaxAgeSeconds, 'Lax')}`;
