import { expect, test } from 'bun:test';
import { composeMessage, quotedClaim, utcMinute } from './compose.ts';

test('untrusted text cannot close its quotes or become a link', () => {
  expect(quotedClaim("Ada's laptop")).toBe("Ada's laptop");
  expect(quotedClaim('x" ok “y')).toBe("x' ok 'y");
  expect(quotedClaim('see https://evil.example/a or www.evil.example')).toBe(
    'see https[:]//evil[.]example/a or www[.]evil[.]example',
  );
  expect(quotedClaim('Mozilla/5.0 (rv:140.0)')).toBe('Mozilla/5.0 (rv:140.0)');
  expect(quotedClaim('eve@evil.example')).toBe('eve@evil[.]example');
});

test('text and HTML have the same content, and the HTML escapes it', () => {
  const { subject, text, html } = composeMessage('A & B', [
    'one <b>two</b>',
    { facts: [{ label: 'Name', claimed: '</td><script>' }] },
    { link: 'https://a.example/x#token=1&2', words: 'Go' },
  ]);
  expect(subject).toBe('A & B');
  expect(text).toBe('one <b>two</b>\n\nName: "</td><script>"\n\nhttps://a.example/x#token=1&2\n');
  expect(html).toContain('<p>one &#60;b&#62;two&#60;/b&#62;</p>');
  expect(html).not.toContain('<script>');
  expect(html).toContain('href="https://a.example/x#token=1&#38;2" style="');
  expect(html).toContain('<title>A &#38; B</title>');
});

test('times are shown to the minute in UTC', () => {
  expect(utcMinute(Date.parse('2026-01-02T03:04:59.999Z'))).toBe('2026-01-02 03:04 UTC');
});

test('only paragraphs of the plain text are wrapped, at 76 columns', () => {
  const long = 'word '.repeat(40).trim();
  const link = `https://a.example/${'x'.repeat(100)}`;
  const { text } = composeMessage('A', [long, { link, words: 'Go' }, 'y'.repeat(100)]);
  const [paragraph = '', ...rest] = text.split('\n\n');
  expect(paragraph.split('\n').every((line) => line.length <= 76 && line === line.trim())).toBe(true);
  expect(paragraph.replaceAll('\n', ' ')).toBe(long);
  expect(rest).toEqual([link, `${'y'.repeat(100)}\n`]);
});
