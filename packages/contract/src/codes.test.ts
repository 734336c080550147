import { expect, test } from 'bun:test';
import fc from '#support/fc.ts';
import {
  codeLength,
  emailCodeAlphabet,
  formatCode,
  normalizeEmailCode,
  normalizeUserCode,
  userCodeAlphabet,
} from './codes.ts';

const codeOf = (alphabet: string) =>
  fc
    .array(fc.constantFrom(...alphabet), { minLength: codeLength, maxLength: codeLength })
    .map((characters) => characters.join(''));
/** Spaces, hyphens, minus signs, long-vowel marks that Japanese keyboards write for a hyphen, and invisible characters. */
const separators = fc.array(
  fc.constantFrom(
    ...' -\t\n\u00a0\u3000\u2011\u2013\u2014\u2212\u05be\uff0d\u30fc\uff70\u00ad\u200b\u200d\u2060\ufeff',
  ),
  { maxLength: 3 },
);
const fullWidth = (character: string) => String.fromCharCode(character.charCodeAt(0) + 0xfee0);

test('no code of one kind is one of the other kind', () => {
  fc.assert(
    fc.property(codeOf(userCodeAlphabet), codeOf(emailCodeAlphabet), (userCode, emailCode) => {
      expect([normalizeEmailCode(userCode), normalizeUserCode(emailCode)]).toEqual([undefined, undefined]);
    }),
  );
});

const kinds = [
  { name: 'user code', alphabet: userCodeAlphabet, normalize: normalizeUserCode },
  { name: 'email code', alphabet: emailCodeAlphabet, normalize: normalizeEmailCode },
];

test.each(kinds)(
  'spaces, hyphens, case, width and invisible characters do not change a $name',
  ({ alphabet, normalize }) => {
    const typed = fc.tuple(
      codeOf(alphabet),
      fc.array(separators, { minLength: 9, maxLength: 9 }),
      fc.array(fc.constantFrom('lower', 'full', 'full lower', ''), { minLength: 8, maxLength: 8 }),
    );
    fc.assert(
      fc.property(typed, ([valid, gaps, forms]) => {
        const letters = [...valid].map((character, n) => {
          const letter = forms[n]!.endsWith('lower') ? character.toLowerCase() : character;
          return gaps[n]!.join('') + (forms[n]!.startsWith('full') ? fullWidth(letter) : letter);
        });
        expect(normalize(letters.join('') + gaps[8]!.join(''))).toBe(valid);
        expect(normalize(formatCode(valid))).toBe(valid);
      }),
    );
  },
);

test.each([
  ['the wrong length', ['', 'BCDFGHJ', 'BCDFGHJKL', '1234567', '123456789']],
  ['another letter', ['BCDF-GHJA', 'BCDF-GHJ1', '1234-567B', '\u0661234-5678', 'BCDF-GH\u0000K']],
  ['another mark between', ['BCDF_GHJK', 'BCDF.GHJK', '1234.5678']],
])('what has %s is neither kind of code', (_, typed) => {
  expect(
    typed.flatMap((text) => [normalizeUserCode(text), normalizeEmailCode(text)]).filter(Boolean),
  ).toEqual([]);
});
