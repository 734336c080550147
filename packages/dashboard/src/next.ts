/** Where a person goes who did not come from anywhere. */
export const home = '/account';

const maxNextLength = 2048;

/**
 * The page to go on to after signing in: `wanted` when it is a path on this very origin, else the account page.
 * Whatever a browser could read as another host or scheme (`//evil`, `/\evil`, `/.//evil`, `javascript:`) is refused.
 */
export function safeNext(wanted: string | null | undefined, origin: string): string {
  if (!wanted?.startsWith('/') || wanted.length > maxNextLength) return home;
  if (/[\\\p{C}\p{Z}]/u.test(wanted)) return home;
  const url = URL.canParse(wanted, origin) ? new URL(wanted, origin) : undefined;
  if (url?.origin !== origin || url.pathname.startsWith('//')) return home;
  if (['/login', '/magic-link', '/verify-email', '/not-me'].includes(url.pathname)) return home;
  return url.pathname + url.search + url.hash;
}

/** The address of the login page that comes back to `next`. */
export const loginPath = (next: string): string => `/login?${new URLSearchParams({ next })}`;

/** The same for somebody who wants to sign in as somebody else: who is signed in already is not asked about it. */
export const switchAccountPath = (next: string): string =>
  `/login?${new URLSearchParams({ next, prompt: 'login' })}`;

/** Whether the login page was opened by `switchAccountPath`. The parameter is that of OpenID Connect. */
export const isSwitchingAccount = (query: URLSearchParams): boolean => query.get('prompt') === 'login';
