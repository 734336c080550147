import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { codeAlphabet, codeLength, formatCode, normalizeCode } from './codes.ts';

const letter = fc.constantFrom(...codeAlphabet);
const code = fc
  .array(letter, { minLength: codeLength, maxLength: codeLength })
  .map((letters) => letters.join(''));
const separators = fc.array(fc.constantFrom(' ', '-', '\t', '\u00a0', '\u2011', '\u2013', '\u2014', '\n'), {
  maxLength: 3,
});

test('codes use the alphabet of RFC 8628, without vowels, digits or duplicates', () => {
  expect(codeAlphabet).toBe('BCDFGHJKLMNPQRSTVWXZ');
});

test('spaces, hyphens and case do not change a code', () => {
  fc.assert(
    fc.property(
      code,
      fc.array(separators, { minLength: 9, maxLength: 9 }),
      fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
      (valid, gaps, lowerCase) => {
        const letters = [...valid].map((c, n) => (lowerCase[n] ? c.toLowerCase() : c));
        const typed = letters.map((c, n) => `${gaps[n]!.join('')}${c}`).join('') + gaps[8]!.join('');
        expect(normalizeCode(typed)).toBe(valid);
        expect(normalizeCode(formatCode(valid))).toBe(valid);
      },
    ),
  );
});

test.each([
  '',
  'BCDFGHJ',
  'BCDFGHJKL',
  'BCDF-GHJA',
  'BCDF-GHJ1',
  'BCDF_GHJK',
  'BCDF-GHJ\u212a',
  'BCDF-GHJ\uff2b',
  'BCDF.GHJK',
  'BCDF-GH\u0000K',
])('%p is not a code', (typed) => {
  expect(normalizeCode(typed)).toBeUndefined();
});

test('a code is formatted as two groups of four', () => {
  expect(formatCode('BCDFGHJK')).toBe('BCDF-GHJK');
});
