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

test('a domain is accepted exactly if IDNA processing returns it unchanged', () => {
  fc.assert(
    fc.property(fc.array(label, { minLength: 1, maxLength: 3 }), (labels) => {
      const domain = [...labels, 'example'].join('.');
      const ascii = domainToASCII(domain);
      const lower = lowerAscii(domain);
      // Punycode labels are compared encoded, all others decoded.
      const decoded = domainToUnicode(ascii).split('.');
      const encoded = ascii.split('.');
      const unchanged = lower
        .split('.')
        .every((part, index) => part === (part.startsWith('xn--') ? encoded[index] : decoded[index]));
      expect(isMappedToItself(domain)).toBe(ascii !== '' && unchanged);
    }),
    { numRuns: 5000 },
  );
});

test('a string that is too long for a domain is rejected without encoding it', () => {
  const letters = Array.from({ length: 20_000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('');
  const start = performance.now();
  expect(isMappedToItself(letters)).toBe(false);
  expect(performance.now() - start).toBeLessThan(50);
});

test('the case of ASCII letters does not change whether a domain is accepted', () => {
  fc.assert(
    fc.property(label, (name) => {
      const upper = name.replace(/[a-z]/g, (letter) => letter.toUpperCase());
      expect(isMappedToItself(`${upper}.EXAMPLE`)).toBe(isMappedToItself(`${name}.example`));
    }),
  );
});
