/** How long a browser stays known after a sign-in: the lifetime of its cookie. */
export const knownBrowserTtlSeconds = 180 * 86_400;
