/**
 * The alphabet of codes that people read and type: no vowels (no words), no digits (no 0/O, 1/I).
 * @see RFC 8628 section 6.1
 */
export const codeAlphabet = 'BCDFGHJKLMNPQRSTVWXZ';
export const codeLength = 8;

/** Shows a code as two groups of four: `BCDF-GHJK`. */
export const formatCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/**
 * What a person typed, without case, spaces and hyphens (also the dashes that phones put in their place), or
 * undefined when it cannot be a code.
 */
export function normalizeCode(typed: string): string | undefined {
  const code = typed
    .replace(/[\s\p{Dash_Punctuation}]/gu, '')
    .replace(/[a-z]/g, (letter) => letter.toUpperCase());
  const wellFormed = code.length === codeLength && [...code].every((letter) => codeAlphabet.includes(letter));
  return wellFormed ? code : undefined;
}
