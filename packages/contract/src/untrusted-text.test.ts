import { expect, test } from 'bun:test';
import { untrustedText } from './untrusted-text.ts';

test('ordinary names are unchanged', () => {
  for (const name of ["Ada's laptop", 'Zürich 東京 حاسوب', '<b>bold</b> & more', 'phone 📱'])
    expect(untrustedText(name)).toBe(name);
});

test('a name cannot reorder, hide or break the text around it', () => {
  expect(untrustedText('evil\u202Etxt.exe\u202C')).toBe('evil[U+202E]txt.exe[U+202C]');
  expect(untrustedText('a\u2066b\u2069c\u200Bd\u0000e\u001B[31m')).toBe(
    'a[U+2066]b[U+2069]c[U+200B]d[U+0000]e[U+001B][31m',
  );
  expect(untrustedText('one\ntwo\u2028three')).toBe('one[U+000A]two[U+2028]three');
  expect(untrustedText('far\u00A0\u00A0\u2003 away')).toBe('far away');
  expect(untrustedText('\u3164')).toBe('[U+3164]');
  expect(untrustedText(`z${'\u0300'.repeat(90)}`)).toBe(`z${'\u0300'.repeat(3)}`);
  expect(untrustedText('half \uD800 pair')).toBe('half \uFFFD pair');
});

test('a name cannot close the quotes around it or hide in invisible characters', () => {
  expect(untrustedText('x” Approved by Latchkey “y')).toBe("x' Approved by Latchkey 'y");
  expect(untrustedText('a"b„c‟d«e»f＂g″h')).toBe("a'b'c'd'e'f'g'h");
  expect(untrustedText('a\u034Fb\uFE00c\u{E0041}d\uFFFC')).toBe('a[U+034F]b[U+FE00]c[U+E0041]d[U+FFFC]');
  expect(untrustedText('❤\uFE0F')).toBe('❤\uFE0F');
});

test('long text is truncated to 160 characters, never in the middle of one', () => {
  expect(untrustedText('x'.repeat(160))).toBe('x'.repeat(160));
  expect(untrustedText('x'.repeat(161))).toBe(`${'x'.repeat(160)}…`);
  expect(untrustedText('📱'.repeat(512))).toBe(`${'📱'.repeat(160)}…`);
  expect(untrustedText('\u202E'.repeat(512))).toBe(`${'[U+202E]'.repeat(160)}…`);
  expect(untrustedText('')).toBe('');
});
