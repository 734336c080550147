/**
 * The spellings of a resource, the given one first: one without a path may be said with or without its final slash.
 * @see RFC 3986 section 6.2.3
 */
export function spellingsOf(resource: string): readonly string[] {
  const [, origin, slash] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]+)(\/?)$/i.exec(resource) ?? [];
  if (origin === undefined) return [resource];
  return slash === '/' ? [resource, origin] : [resource, `${origin}/`];
}

/** Whether two texts name the same resource. */
export const isSameResource = (one: string, other: string): boolean => spellingsOf(one).includes(other);
