import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { codeAlphabet, codeLength, formatCode, normalizeCode } from './codes.ts';

const letter = fc.constantFrom(...codeAlphabet);
const code = fc
  .array(letter, { minLength: codeLength, maxLength: codeLength })
  .map((letters) => letters.join(''));
const filling = fc.array(fc.constantFrom(' ', '-', '\t', '\u00a0', '\u2011', '\u2013', '\u2014', '\n'), {
  maxLength: 3,
});

test('the alphabet is the one of RFC 8628: no vowel, no digit, no letter twice', () => {
  expect(codeAlphabet).toBe('BCDFGHJKLMNPQRSTVWXZ');
});

test('however a code is spaced, hyphenated and cased, it is the same code', () => {
  fc.assert(
    fc.property(
      code,
      fc.array(filling, { minLength: 9, maxLength: 9 }),
      fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
      (good, gaps, small) => {
        const letters = [...good].map((c, n) => (small[n] ? c.toLowerCase() : c));
        const typed = letters.map((c, n) => `${gaps[n]!.join('')}${c}`).join('') + gaps[8]!.join('');
        expect(normalizeCode(typed)).toBe(good);
        expect(normalizeCode(formatCode(good))).toBe(good);
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
])('%p is no code', (typed) => {
  expect(normalizeCode(typed)).toBeUndefined();
});

test('a code is shown as two groups of four', () => {
  expect(formatCode('BCDFGHJK')).toBe('BCDF-GHJK');
});
