import { expect, test } from 'bun:test';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { hmacUnder, sha256 } from './hash.ts';

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

test('hmacUnder equals HMAC-SHA-256 of node:crypto, whatever was hashed in between', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), label, parts, (secret, name, bytes) => {
      const expected = createHmac('sha256', secret).update(`${name.length}:${name}`);
      for (const part of bytes) expected.update(part);
      const mac = hmacUnder(secret);
      sha256('something else', randomBytes(100));
      expect(mac(name, ...bytes)).toEqual(expected.digest());
    }),
  );
});

test('later hashes do not change earlier results', () => {
  const mac = hmacUnder(randomBytes(32));
  const [first, hash] = [mac('a'), sha256('a')];
  const [copy, hashCopy] = [Buffer.from(first), Buffer.from(hash)];
  expect(mac('b')).not.toEqual(first);
  expect([first, hash]).toEqual([copy, hashCopy]);
  expect(sha256('b')).not.toEqual(hash);
});
