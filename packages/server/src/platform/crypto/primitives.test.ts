import { expect, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import fc from '#support/fc.ts';
import { generateKey, parseKeyRing, sha256 } from './primitives.ts';

const parts = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 5 });
const label = fc.string({ unit: 'grapheme', maxLength: 200 });

test('sha256 equals node:crypto over the label length, the label and the parts', () => {
  fc.assert(
    fc.property(label, parts, fc.string({ unit: 'grapheme' }), (name, bytes, text) => {
      const expected = createHash('sha256').update(`${name.length}:${name}`);
      for (const part of bytes) expected.update(part);
      expect(sha256(name, ...bytes, text)).toEqual(expected.update(text).digest());
    }),
  );
});

test('the MAC of a key equals HMAC of node:crypto over the label length, the label and the parts', () => {
  const secret = generateKey();
  const { signing } = parseKeyRing(secret);
  fc.assert(
    fc.property(label, parts, (name, bytes) => {
      const expected = createHmac('sha256', Buffer.from(secret, 'base64url'));
      expected.update(`${name.length}:${name}`);
      for (const part of bytes) expected.update(part);
      expect(signing.mac(name, ...bytes)).toEqual(expected.digest());
    }),
  );
});
