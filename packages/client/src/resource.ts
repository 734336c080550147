/** One spelling of a resource: without a path, a final slash does not count. @see RFC 3986 section 6.2.3 */
export const canonicalResource = (resource: string): string =>
  /^[a-z][a-z0-9+.-]*:\/\/[^/?#]+\/$/i.test(resource) ? resource.slice(0, -1) : resource;

export const isSameResource = (one: string, other: string): boolean =>
  canonicalResource(one) === canonicalResource(other);
