import { expect, test } from 'bun:test';
import { domainToASCII, domainToUnicode } from 'node:url';
import fc from 'fast-check';
import { isMappedToItself } from './domains.ts';

const lowerAscii = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const lettersOf = (pattern: RegExp) =>
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: 12 })
    .map((text) => [...text].filter((c) => pattern.test(c)).join(''))
    .filter((text) => text !== '');
const label = fc.oneof(
  lettersOf(/[\p{L}\p{N}\p{M}]/u),
  fc.stringMatching(/^[a-zA-Z0-9]{1,12}$/),
  fc.constantFrom(
    'b\u00fccher',
    '\u4f8b\u5b50',
    '\uff47mail',
    'stra\u00dfe',
    '\u03c3\u03c2',
    'xn--bcher-kva',
  ),
);

test('a domain is good exactly where looking it up gives back the same letters', () => {
  fc.assert(
    fc.property(fc.array(label, { minLength: 1, maxLength: 3 }), (labels) => {
      const domain = [...labels, 'example'].join('.');
      const ascii = domainToASCII(domain);
      const lower = lowerAscii(domain);
      // Decoded labels are compared decoded, and encoded ones as they are.
      const shown = domainToUnicode(ascii).split('.');
      const looked = ascii.split('.');
      const unchanged = lower
        .split('.')
        .every((part, index) => part === (part.startsWith('xn--') ? looked[index] : shown[index]));
      expect(isMappedToItself(domain)).toBe(ascii !== '' && unchanged);
    }),
    { numRuns: 5000 },
  );
});

test('what is too long for a domain is refused before it is encoded, however long it is', () => {
  const letters = Array.from({ length: 20_000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('');
  const start = performance.now();
  expect(isMappedToItself(letters)).toBe(false);
  expect(performance.now() - start).toBeLessThan(50);
});

test('the case of ASCII letters does not matter', () => {
  fc.assert(
    fc.property(label, (name) => {
      const upper = name.replace(/[a-z]/g, (letter) => letter.toUpperCase());
      expect(isMappedToItself(`${upper}.EXAMPLE`)).toBe(isMappedToItself(`${name}.example`));
    }),
  );
});
