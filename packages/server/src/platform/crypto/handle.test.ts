import { describe, expect, test } from 'bun:test';
import { type Handle, type HandleKind, handlePrefix, mintHandle, readHandle } from './handle.ts';
import { generateKey, parseKeyRing } from './primitives.ts';

const ring = parseKeyRing(generateKey());
const kinds = Object.keys(handlePrefix) as HandleKind[];
const subject = Buffer.from('0123456789abcdef');
const handle: Handle = { subject, value: 1_800_000_000_123 };
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

describe.each(kinds)('a handle of kind %s', (kind) => {
  const text = mintHandle(ring, kind, handle);
  const read = (candidate: string, keys = ring) => readHandle(keys, kind, candidate);

  test('is its prefix and URL-safe characters, and returns the subject, value and key that it was created with', () => {
    expect(text).toMatch(new RegExp(`^${handlePrefix[kind]}[A-Za-z0-9_-]{80}$`));
    expect(read(text)).toEqual({ ...handle, key: ring.signing });
    for (const value of [0, 1, 2 ** 48 - 1])
      expect(read(mintHandle(ring, kind, { subject, value }))?.value).toBe(value);
    expect(read(text, parseKeyRing(generateKey()))).toBeUndefined();
  });

  test('has one spelling: with a changed, a missing or one more character it is refused', () => {
    for (let at = 0; at < text.length; at++) {
      const [before, after] = [text.slice(0, at), text.slice(at + 1)];
      for (const other of `${alphabet}+/=. \n\0`)
        if (other !== text[at]) expect(read(before + other + after)).toBeUndefined();
      for (const wrong of [before, after, before + after]) expect(read(wrong)).toBeUndefined();
    }
    for (const extra of [text, '=', '==', 'A', '\0', ' ', '\r\n', '\u00a0', '\ufeff'])
      for (const wrong of [text + extra, extra + text]) expect(read(wrong)).toBeUndefined();
    for (const wrong of [text.toUpperCase(), text.toLowerCase()]) expect(read(wrong)).toBeUndefined();
  });

  test('is never accepted as another kind, whatever its prefix', () => {
    for (const other of kinds.filter((candidate) => candidate !== kind)) {
      expect(readHandle(ring, other, text)).toBeUndefined();
      expect(readHandle(ring, other, handlePrefix[other] + text.slice(6))).toBeUndefined();
    }
  });
});

test('every kind of handle has its own prefix', () => {
  expect(new Set(Object.values(handlePrefix)).size).toBe(kinds.length);
});
