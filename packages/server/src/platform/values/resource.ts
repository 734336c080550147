/**
 * The spellings of a resource: one without a path may be written with or without its final slash. The first is the canonical one.
 * @see RFC 3986 section 6.2.3
 */
export function spellingsOf(resource: string): readonly [string, ...string[]] {
  const [, origin] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]+)\/?$/i.exec(resource) ?? [];
  return origin === undefined ? [resource] : [origin, `${origin}/`];
}

/** Whether two texts name the same resource. Null names none. */
export const isSameResource = (one: string, other: string | null): boolean =>
  other !== null && spellingsOf(one)[0] === spellingsOf(other)[0];
