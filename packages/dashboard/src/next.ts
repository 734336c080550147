/** The page after a sign-in that names no page. */
export const home = '/account';

export const sessionsPath = `${home}#sessions`;

export const securityPath = `${home}#security`;

/** Room for an authorization request with a `state` and a redirect URI of maximum length. */
const maxNextLength = 10_240;

/**
 * The page to continue to after signing in: `wanted` if it is a path on this origin, otherwise the account page.
 * Rejects anything a browser could read as another host or scheme (`//evil`, `/\evil`, `/.//evil`, `javascript:`).
 */
export function safeNext(wanted: string | null | undefined, origin: string): string {
  if (!wanted?.startsWith('/') || wanted.length > maxNextLength) return home;
  if (/[\\\p{C}\p{Z}]/u.test(wanted)) return home;
  const url = URL.canParse(wanted, origin) ? new URL(wanted, origin) : undefined;
  if (url?.origin !== origin || url.pathname.startsWith('//')) return home;
  if (['/login', '/magic-link', '/verify-email', '/not-me'].includes(url.pathname)) return home;
  return url.pathname + url.search + url.hash;
}

export const loginPath = (next: string): string => `/login?${new URLSearchParams({ next })}`;

/** Like `loginPath`, but shows the sign-in form even to someone who is already signed in. */
export const switchAccountPath = (next: string): string =>
  `/login?${new URLSearchParams({ next, prompt: 'login' })}`;

/** Whether `switchAccountPath` led to the sign-in page. @see OpenID Connect Core 1.0 section 3.1.2.1 */
export const isSwitchingAccount = (query: URLSearchParams): boolean => query.get('prompt') === 'login';
