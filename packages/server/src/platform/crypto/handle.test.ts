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

  test('returns the subject, value and key that it was created with', () => {
    expect(read(text)).toEqual({ ...handle, key: ring.signing });
    for (const value of [0, 1, 2 ** 48 - 1]) {
      expect(read(mintHandle(ring, kind, { subject, value }))?.value).toBe(value);
    }
  });

  test('consists of its prefix and URL-safe characters', () => {
    expect(text).toMatch(new RegExp(`^${handlePrefix[kind]}[A-Za-z0-9_-]{80}$`));
  });

  test('has one spelling: changing any character makes it invalid', () => {
    for (let at = 0; at < text.length; at++) {
      for (const other of alphabet) {
        if (other === text[at]) continue;
        expect(read(text.slice(0, at) + other + text.slice(at + 1))).toBeUndefined();
      }
    }
  });

  test('is refused when truncated, extended, padded or spelled in another alphabet', () => {
    for (let length = 0; length < text.length; length++) expect(read(text.slice(0, length))).toBeUndefined();
    for (let cut = 1; cut < text.length; cut++) expect(read(text.slice(cut))).toBeUndefined();
    const additions = ['=', '==', 'A', '-', '.', '%00', '\0', ' ', '\n', '\r\n', '\t', '\u00a0', '\ufeff'];
    for (const extra of additions) {
      expect(read(text + extra)).toBeUndefined();
      expect(read(extra + text)).toBeUndefined();
      expect(read(text.slice(0, 20) + extra + text.slice(20))).toBeUndefined();
    }
    expect(read(text + text)).toBeUndefined();
    expect(read(text.toUpperCase())).toBeUndefined();
    expect(read(text.toLowerCase())).toBeUndefined();
    const plainBase64 = text.slice(6).replaceAll('-', '+').replaceAll('_', '/');
    if (plainBase64 !== text.slice(6)) expect(read(text.slice(0, 6) + plainBase64)).toBeUndefined();
  });

  test('is never accepted as another kind, whatever its prefix', () => {
    for (const other of kinds.filter((candidate) => candidate !== kind)) {
      expect(readHandle(ring, other, text)).toBeUndefined();
      expect(readHandle(ring, other, handlePrefix[other] + text.slice(6))).toBeUndefined();
    }
  });

  test('is refused under another key ring', () => {
    expect(read(text, parseKeyRing(generateKey()))).toBeUndefined();
  });
});

test('every kind of handle has its own prefix', () => {
  expect(new Set(Object.values(handlePrefix)).size).toBe(kinds.length);
});
