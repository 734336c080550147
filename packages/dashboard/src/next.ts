/** The page after a sign-in that names no page. */
export const home = '/account';

export const sessionsPath = `${home}#sessions`;

export const securityPath = `${home}#security`;

/** Longer than any request that the service accepts. */
const maxNextLength = 16_384;

/** Short enough for the service and proxies, beside all other headers. */
const maxQueryLength = 4_096;

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

/** A long query is a fragment, which the browser keeps to itself: escaped once more, an authorization request can be too long to send. */
function signInPath(query: Readonly<Record<string, string>>): string {
  const text = `${new URLSearchParams(query)}`;
  return `/login${text.length > maxQueryLength ? '#' : '?'}${text}`;
}

export const loginPath = (next: string): string => signInPath({ next });

/** Like `loginPath`, but shows the sign-in form even to someone who is already signed in. */
export const switchAccountPath = (next: string): string => signInPath({ next, prompt: 'login' });

/** The query of the sign-in page, however it was sent. */
export const signInQuery = ({ search, hash }: Pick<URL, 'search' | 'hash'>): URLSearchParams =>
  new URLSearchParams(search || hash.slice(1));

/** Whether `switchAccountPath` led to the sign-in page. @see OpenID Connect Core 1.0 section 3.1.2.1 */
export const isSwitchingAccount = (query: URLSearchParams): boolean => query.get('prompt') === 'login';
