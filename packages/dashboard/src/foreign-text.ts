/**
 * A stranger's text, made safe to read: control, format, bidi-override, invisible and unassigned characters are
 * spelled out as `[U+202E]`, any space is one plain space, and a pile of combining marks is cut down.
 */
export function foreignText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Zs}+/gu, ' ')
    .replace(/(\p{M}{3})\p{M}+/gu, '$1')
    .replace(/[\p{C}\p{Zl}\p{Zp}\u{115F}\u{1160}\u{2800}\u{3164}\u{FFA0}]/gu, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
    })
    .trim();
}
