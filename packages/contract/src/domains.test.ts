import { expect, test } from 'bun:test';
import { domainToASCII, domainToUnicode } from 'node:url';
import fc from '#support/fc.ts';
import { asciiDomainOf, isMappedToItself } from './domains.ts';

const lowerAscii = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const lettersOf = (pattern: RegExp) =>
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: 12 })
    .map((text) => [...text].filter((c) => pattern.test(c)).join(''))
    .filter((text) => text !== '');
const label = fc.oneof(
  lettersOf(/[\p{L}\p{N}\p{M}]/u),
  fc.stringMatching(/^[a-zA-Z0-9]{1,12}$/),
  // Spellings of one domain, and what only transitional processing changes.
  fc.constantFrom(
    ...['b\u00fccher', 'B\u00fccher', 'xn--bcher-kva', 'XN--BCHER-KVA', 'bu\u0308cher', 'B\u00dcCHER'],
    ...['b\uff55cher', 'b\u00fc\u00adcher', 'b\u00fccher\u3002a', '\uff47mail', 'fa\u00df'],
    ...['\u03c3\u03c2', '\u0646\u0627\u0645\u0647\u200c\u0627\u06cc'],
  ),
);

test('a domain is accepted exactly if browsers look it up as it is spelled, in letters or in ASCII', () => {
  fc.assert(
    fc.property(fc.array(label, { minLength: 1, maxLength: 3 }), (labels) => {
      const domain = [...labels, 'example'].join('.');
      const ascii = domainToASCII(domain);
      const [aLabels, uLabels] = [ascii, domainToUnicode(ascii)].map((mapped) => mapped.split('.'));
      const isSame = lowerAscii(domain)
        .split('.')
        .every((one, at) => one === aLabels![at] || one === uLabels![at]);
      // The URL parser leaves the length of labels, and characters such as the comma, to the resolver.
      const isDomain = aLabels!.every((one) => /^[a-z0-9-]{1,63}$/.test(one));
      expect(isMappedToItself(domain)).toBe(isDomain && isSame);
      expect(asciiDomainOf(domain)).toBe(isDomain ? ascii : undefined);
    }),
    { numRuns: 5000 },
  );
});

test('an IPv4 address in any spelling is no domain, but a domain may have numbers', () => {
  const addresses = ['127.0.0.1', '0x7f.1', '0x7F.0X1', '1', '2130706433', 'a.0', '0x', 'a.0x', '1.2'];
  const domains = ['1a', '127.0.0.1.example', 'a.b', '0x7f.example', 'a.x0', 'a.1x'];
  expect([...addresses, ...domains].filter(isMappedToItself)).toEqual(domains);
});

test('a string that is too long for a domain is rejected', () => {
  const letters = Array.from({ length: 20_000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('');
  expect(isMappedToItself(letters)).toBe(false);
});
