import { expect, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import fc from '../../../../../tests/support/fc.ts';
import { hmac, sha256 } from './hash.ts';

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

test('hmac equals node:crypto over the label length, the label and the parts', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), label, parts, (secret, name, bytes) => {
      const expected = createHmac('sha256', secret).update(`${name.length}:${name}`);
      for (const part of bytes) expected.update(part);
      expect(hmac(secret, name, ...bytes)).toEqual(expected.digest());
    }),
  );
});
