/**
 * The alphabet of user codes. It has no vowels, so that no words appear, and no digits, so that 0 and O, or 1
 * and I, are not confused.
 * @see RFC 8628 section 6.1
 */
export const userCodeAlphabet = 'BCDFGHJKLMNPQRSTVWXZ';

/** Codes from emails are digits, so that they are not confused with device codes. */
export const emailCodeAlphabet = '0123456789';

/** Of both kinds of codes. */
export const codeLength = 8;

/** Formats a code as two groups of four: `BCDF-GHJK`, `1234-5678`. */
export const formatCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/** Spaces, hyphens of any script, characters typed in place of a hyphen, and invisible characters. */
const separators =
  /[\s\p{Dash}\u{2D7}\u{2043}\u{2796}\u{30FB}\u{30FC}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** A code as it was issued, from what was typed: upper case, no separators, no full-width characters. */
export const plainCode = (typed: string): string =>
  typed
    .normalize('NFKC')
    .replace(separators, '')
    .replace(/[a-z]/g, (letter) => letter.toUpperCase());

/** Normalizes a typed user code. Undefined if the result is not a well-formed code. */
export const normalizeUserCode = (typed: string): string | undefined =>
  normalizeCode(typed, userCodeAlphabet);

/** Normalizes a typed code from an email in the same way. */
export const normalizeEmailCode = (typed: string): string | undefined =>
  normalizeCode(typed, emailCodeAlphabet);

function normalizeCode(typed: string, alphabet: string): string | undefined {
  const code = plainCode(typed);
  const wellFormed = code.length === codeLength && [...code].every((letter) => alphabet.includes(letter));
  return wellFormed ? code : undefined;
}
