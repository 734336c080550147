/**
 * Makes user-supplied text safe to display on its own: writes control, format, bidi-override, invisible and unassigned
 * characters as `[U+202E]`, collapses spaces and limits combining marks. The result is up to 9 times as long, and still
 * has to be escaped as markup.
 */
export function escapeInvisible(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Zs}+/gu, ' ')
    .replace(/(\p{M}{3})\p{M}+/gu, '$1')
    .replace(/(?!\u{FE0F})[\p{C}\p{DI}\p{Zl}\p{Zp}\u{2800}\u{FFFC}]/gu, codePointOf)
    .trim();
}

/** A character as `[U+202E]`. */
export const codePointOf = (character: string): string =>
  `[U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`;

/** The quotation marks of all our languages, and what looks like a double one. */
const quotationMarks =
  /["\u{AB}\u{BB}\u{2BA}\u{201C}-\u{201F}\u{2033}\u{2036}\u{275D}\u{275E}\u{300C}-\u{300F}\u{301D}-\u{301F}\u{FF02}\u{FF62}\u{FF63}]/gu;

/** In characters. Longer text could push what matters out of sight. */
const maxShownLength = 160;

/**
 * Makes untrusted text safe to show in quotes on a page, in an email or in a terminal: escapes invisible characters,
 * truncates, and replaces anything that looks like a quotation mark, so that it can't appear to end early.
 */
export function untrustedText(text: string): string {
  const characters = escapeInvisible(text)
    .replaceAll(quotationMarks, "'")
    .match(/\[U\+[0-9A-F]{4,6}\]|./gu);
  const shown = characters?.slice(0, maxShownLength).join('') ?? '';
  return characters && characters.length > maxShownLength ? `${shown}…` : shown;
}

/** JSON of the same value that cannot control a terminal. */
export const terminalJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
