/** How long a browser is remembered as one that signed in to an address: the lifetime of its cookie. */
export const knownBrowserTtlSeconds = 180 * 86_400;
