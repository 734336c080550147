import { expect, test } from 'bun:test';
import { pngLogo } from '#support/logos.ts';
import type { Product } from '../config/product.ts';
import { composeMessage, quotedClaim, timesFor } from './compose.ts';

const latchkey: Product = {
  name: 'Latchkey',
  links: { help: undefined, legal: undefined },
  logo: undefined,
};
const inEnglish = (product: Product) => ({ product, language: 'en' }) as const;

test('untrusted text cannot close its quotes or become a link', () => {
  expect(quotedClaim("Ada's laptop")).toBe("Ada's laptop");
  expect(quotedClaim('x" ok “y')).toBe("x' ok 'y");
  expect(quotedClaim('see https://evil.example/a or www.evil.example')).toBe(
    'see https[:]//evil[.]example/a or www[.]evil[.]example',
  );
  expect(quotedClaim('Mozilla/5.0 (rv:140.0)')).toBe('Mozilla/5.0 (rv:140.0)');
  expect(quotedClaim('eve@evil.example')).toBe('eve@evil[.]example');
});

test('an email address that somebody chose cannot become a link', () => {
  const fact = { label: 'New address', address: 'www.evil.example/now@a.5g.example' };
  const { text, html } = composeMessage(inEnglish(latchkey), 'A', [{ facts: [fact] }]);
  const written = 'www[.]evil[.]example/now@a[.]5g[.]example';
  expect(text).toBe(`New address: ${written}\n`);
  expect(html).toContain(`<bdi>${written}</bdi>`);
});

test.each([
  ['en', 'Name: "curl"', '&#34;<bdi>curl</bdi>&#34;'],
  ['de', 'Name: „curl“', '„<bdi>curl</bdi>“'],
  ['fr', 'Name\u00a0: «\u00a0curl\u00a0»', '«\u00a0<bdi>curl</bdi>\u00a0»'],
  ['es', 'Name: «curl»', '«<bdi>curl</bdi>»'],
  ['pt-BR', 'Name: “curl”', '“<bdi>curl</bdi>”'],
  ['ja', 'Name：「curl」', '「<bdi>curl</bdi>」'],
] as const)(
  'in %s, labels and claims are written as readers write them, and no claim can end early',
  (language, plain, marked) => {
    const parts = [{ facts: [{ label: 'Name', claimed: 'curl' }] }];
    const { text, html } = composeMessage({ product: latchkey, language }, 'A', parts);
    expect(text).toBe(`${plain}\n`);
    expect(html).toContain(marked);
    for (const mark of plain.replace(/[\w\s:：]/g, '')) expect(quotedClaim(`a${mark}b`)).toBe("a'b");
  },
);

test('text and HTML have the same content, and the HTML escapes it', () => {
  const { subject, text, html } = composeMessage(inEnglish(latchkey), 'A & B', [
    'one <b>two</b>',
    { facts: [{ label: 'Name', claimed: '</td><script>' }] },
    { link: 'https://a.example/x#token=1&2', words: 'Go' },
  ]);
  expect(subject).toBe('A & B');
  expect(text).toBe('one <b>two</b>\n\nName: "</td><script>"\n\nhttps://a.example/x#token=1&2\n');
  expect(html).toMatch(/<p style="[^"]*">one &#60;b&#62;two&#60;\/b&#62;<\/p>/);
  expect(html).not.toContain('<script>');
  expect(html).toContain('href="https://a.example/x#token=1&#38;2" style="');
  expect(html).toContain('<title>A &#38; B</title>');
});

const minute = Date.parse('2026-01-02T03:04:59.999Z');

test.each([
  [null, null, '2 Jan 2026, 03:04 UTC'],
  ['en', null, '2 Jan 2026, 03:04 UTC'],
  [null, 'Asia/Kolkata', '2 Jan 2026, 08:34 UTC+5:30'],
  ['de', null, '02.01.2026, 03:04 UTC'],
  ['en-US', 'America/New_York', 'Jan 1, 2026, 10:04 PM UTC-5'],
  ['he', 'Asia/Jerusalem', '\u20682 בינו׳ 2026, 5:04 UTC+2\u2069'],
  ['nonsense', 'Atlantis/Port', '2 Jan 2026, 03:04 UTC'],
])('to a reader with the locale %p in %p, a time is shown to the minute', (locale, time_zone, written) => {
  expect(timesFor({ locale, time_zone })(minute)).toBe(written);
  expect(timesFor(undefined)(minute)).toBe('2 Jan 2026, 03:04 UTC');
});

test('the name of the product is above the HTML, with a PNG logo and without an SVG one, and its links follow their words below', () => {
  const bytes = pngLogo(1, 1);
  const acme: Product = {
    name: 'A & B',
    links: { help: 'https://help.acme.example/', legal: 'https://acme.example/legal' },
    logo: { type: 'image/png', bytes, size: undefined },
  };
  const { text, html } = composeMessage(inEnglish(acme), 'A', ['one']);
  // No link has a line of its own, as that of the mail has.
  expect(text).toBe('one\n\nHelp: https://help.acme.example/\nLegal: https://acme.example/legal\n');
  expect(html).toMatch(/<a [^>]*href="https:\/\/help/);
  expect(html).toMatch(/<p [^>]*><img src="cid:logo@product" alt="" [^>]*> A &#38; B<\/p>\n<p [^>]*>one/);
  const vector: Product = { ...acme, logo: { type: 'image/svg+xml', bytes, size: undefined } };
  const withoutLogo = composeMessage(inEnglish(vector), 'A', ['one']).html;
  expect(withoutLogo).toMatch(/<p [^>]*>A &#38; B<\/p>/);
  expect(withoutLogo).not.toContain('<img');
  expect(composeMessage(inEnglish(latchkey), 'A', ['one']).html).not.toMatch(/<a|<img/);
});

test('the preheader is the first paragraph unless another is given, and only in the HTML', () => {
  const preheaderOf = (html: string) => /<div style="display: none[^>]*>([^<]*)</.exec(html)?.[1];
  const parts = [{ code: '1234-5678' }, 'one & two', 'three'];
  expect(preheaderOf(composeMessage(inEnglish(latchkey), 'A', parts).html)).toBe('one &#38; two');
  const given = composeMessage(inEnglish(latchkey), 'A', parts, 'At a glance');
  expect(preheaderOf(given.html)).toBe('At a glance');
  expect(given.text).not.toContain('At a glance');
});

test('the HTML follows the dark mode of the mail program', () => {
  const { html } = composeMessage(inEnglish(latchkey), 'A', ['one']);
  expect(html).toContain('<meta name="color-scheme" content="light dark">');
  expect(html).toMatch(
    /@media \(prefers-color-scheme: dark\) \{ \.page \{ background: #[0-9a-f]{6} !important/,
  );
});

test('only paragraphs of the plain text are wrapped, at 76 columns, and none in Japanese, which has few spaces', () => {
  const long = 'word '.repeat(40).trim();
  const link = `https://a.example/${'x'.repeat(100)}`;
  const { text } = composeMessage(inEnglish(latchkey), 'A', [long, { link, words: 'Go' }, 'y'.repeat(100)]);
  const [paragraph = '', ...rest] = text.split('\n\n');
  expect(paragraph.split('\n').every((line) => line.length <= 76 && line === line.trim())).toBe(true);
  expect(paragraph.replaceAll('\n', ' ')).toBe(long);
  expect(rest).toEqual([link, `${'y'.repeat(100)}\n`]);
  const japanese = 'Latchkey へのログインに使用します。'.repeat(8);
  expect(composeMessage({ product: latchkey, language: 'ja' }, 'A', [japanese]).text).toBe(`${japanese}\n`);
});
