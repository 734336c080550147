import type { Config } from '../config/config.ts';
import { knownBrowserTtlSeconds } from '../values/lifetimes.ts';

/** On https the prefix binds a cookie to this host and to secure connections. */
const cookieName = (config: Config, name: string): string => (config.https ? `__Host-${name}` : name);

const sessionName = 'latchkey_session';
const knownBrowserName = 'latchkey_browser';

export const sessionCookieName = (config: Config): string => cookieName(config, sessionName);

/** The cookie of this name in a request, if there is exactly one. */
function readCookie(config: Config, name: string, header: string | null): string | undefined {
  if (!header) return undefined;
  const prefix = `${cookieName(config, name)}=`;
  const found = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  return found.length === 1 ? found[0]?.slice(prefix.length) : undefined;
}

/** The session cookie of a request, if there is exactly one. */
export const readSessionCookie = (config: Config, header: string | null): string | undefined =>
  readCookie(config, sessionName, header);

/** The cookie by which a browser is known again, if there is exactly one. */
export const readKnownBrowserCookie = (config: Config, header: string | null): string | undefined =>
  readCookie(config, knownBrowserName, header);

const attributes = (config: Config, maxAgeSeconds: number, sameSite: 'Lax' | 'Strict'): string =>
  `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${config.https ? '; Secure' : ''}`;

/** The header that sets the session cookie for its idle life, or with no value removes it. */
export function sessionCookieHeader(config: Config, value: string | undefined): string {
  const maxAge = value === undefined ? 0 : config.refreshIdleTtlSeconds;
  return `${cookieName(config, sessionName)}=${value ?? ''}; ${attributes(config, maxAge, 'Lax')}`;
}

/** The header that sets the cookie by which a browser is known again. */
export const knownBrowserCookieHeader = (config: Config, value: string): string =>
  `${cookieName(config, knownBrowserName)}=${value}; ${attributes(config, knownBrowserTtlSeconds, 'Strict')}`;
