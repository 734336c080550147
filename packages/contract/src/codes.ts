/**
 * The alphabet of codes that people read and type: no vowels, to avoid words; no digits, to avoid 0/O and 1/I.
 * @see RFC 8628 section 6.1
 */
export const codeAlphabet = 'BCDFGHJKLMNPQRSTVWXZ';
export const codeLength = 8;

/** Formats a code as two groups of four: `BCDF-GHJK`. */
export const formatCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/**
 * Normalizes a typed code: ignores case, spaces and hyphens, including the dashes that phones substitute. Undefined if
 * the result is not a well-formed code.
 */
export function normalizeCode(typed: string): string | undefined {
  const code = typed
    .replace(/[\s\p{Dash_Punctuation}]/gu, '')
    .replace(/[a-z]/g, (letter) => letter.toUpperCase());
  const wellFormed = code.length === codeLength && [...code].every((letter) => codeAlphabet.includes(letter));
  return wellFormed ? code : undefined;
}
