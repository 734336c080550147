import type { Config } from '../config.ts';

/** On https the prefix binds the cookie to this host and to secure connections. */
export const sessionCookieName = (config: Config): string =>
  config.https ? '__Host-latchkey_session' : 'latchkey_session';

/** The session cookie of a request, if there is exactly one. */
export function readSessionCookie(config: Config, header: string | null): string | undefined {
  if (!header) return undefined;
  const prefix = `${sessionCookieName(config)}=`;
  const found = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  return found.length === 1 ? found[0]?.slice(prefix.length) : undefined;
}

/** The header that sets the session cookie for its idle life, or with no value removes it. */
export function sessionCookieHeader(config: Config, value: string | undefined): string {
  const maxAge = value === undefined ? 0 : config.refreshIdleTtlSeconds;
  const secure = config.https ? '; Secure' : '';
  return `${sessionCookieName(config)}=${value ?? ''}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`;
}
