/**
 * A stranger's text, made safe to show on a page, in a mail or in a terminal, between double quotes: control,
 * format, bidi-override, invisible and unassigned characters are spelled out as `[U+202E]`, any space is one
 * plain space, a pile of combining marks is cut down, and whatever looks like a double quote is a single one, so
 * that no text can seem to end before it does. Never longer than 9 times its length. Not for markup: escape it too.
 */
export function foreignText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Zs}+/gu, ' ')
    .replace(
      /["\u{AB}\u{BB}\u{2BA}\u{201C}-\u{201F}\u{2033}\u{2036}\u{275D}\u{275E}\u{301D}-\u{301F}\u{FF02}]/gu,
      "'",
    )
    .replace(/(\p{M}{3})\p{M}+/gu, '$1')
    .replace(/(?!\u{FE0F})[\p{C}\p{DI}\p{Zl}\p{Zp}\u{2800}\u{FFFC}]/gu, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
    })
    .trim();
}
