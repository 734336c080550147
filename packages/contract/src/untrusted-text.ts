/**
 * Text that a person or program made up, safe to show alone: control, format, bidi-override, invisible and
 * unassigned characters are spelled out as `[U+202E]`, any space is one plain space, and a pile of combining
 * marks is cut down. At most 9 times as long. It is no markup yet: escape it, too.
 */
export function escapeInvisible(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Zs}+/gu, ' ')
    .replace(/(\p{M}{3})\p{M}+/gu, '$1')
    .replace(/(?!\u{FE0F})[\p{C}\p{DI}\p{Zl}\p{Zp}\u{2800}\u{FFFC}]/gu, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
    })
    .trim();
}

const likeDoubleQuotes =
  /["\u{AB}\u{BB}\u{2BA}\u{201C}-\u{201F}\u{2033}\u{2036}\u{275D}\u{275E}\u{301D}-\u{301F}\u{FF02}]/gu;

/** How many characters of a stranger's text are shown; as many lines of it would push what matters out of sight. */
const maxShownLength = 160;

/**
 * A stranger's text for a page, a mail or a terminal, to be put between double quotes: spelled out, cut, and
 * without anything that looks like a double quote, so that it cannot seem to end before it does.
 */
export function untrustedText(text: string): string {
  const characters = escapeInvisible(text)
    .replaceAll(likeDoubleQuotes, "'")
    .match(/\[U\+[0-9A-F]{4,6}\]|./gu);
  const shown = characters?.slice(0, maxShownLength).join('') ?? '';
  return characters && characters.length > maxShownLength ? `${shown}…` : shown;
}
