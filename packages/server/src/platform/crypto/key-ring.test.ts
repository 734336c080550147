import { expect, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import fc from '#support/fc.ts';
import { mintHandle, readHandle } from './handle.ts';
import { generateKey, parseKeyRing, sha256 } from './primitives.ts';

const [older, newer, newest] = [generateKey(), generateKey(), generateKey()];
const subject = Buffer.alloc(16, 'subject');
test.each([
  ['the first key of the ring signs', [newer], [newer, older], true],
  ['no other key of the ring signs', [older], [newer, older], false],
  ['the newest of three keys verifies', [newest, newer, older], [newest], true],
  ['the second of three keys verifies', [newest, newer, older], [newer], true],
  ['the oldest of three keys verifies', [newest, newer, older], [older], true],
  ['a key that left the ring no longer verifies', [newest, newer], [older], false],
])('%s', (_, verifying, signing, isAccepted) => {
  const text = mintHandle(parseKeyRing(signing.join()), 'accessToken', { subject, value: 1 });
  expect(readHandle(parseKeyRing(verifying.join()), 'accessToken', text) !== undefined).toBe(isAccepted);
});

test('the id of a key contains no part of the key', () => {
  const { signing } = parseKeyRing(older);
  const secret = Buffer.from(older, 'base64url');
  expect(secret.includes(signing.id)).toBe(false);
  expect(signing.id.length).toBe(5);
});

test('a hash and the MAC of a key are SHA-256 and HMAC of node:crypto over the label length, the label and the parts', () => {
  const { signing } = parseKeyRing(older);
  const label = fc.string({ unit: 'grapheme', maxLength: 200 });
  const parts = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 5 });
  fc.assert(
    fc.property(label, parts, (name, bytes) => {
      const [hash, mac] = [createHash('sha256'), createHmac('sha256', Buffer.from(older, 'base64url'))];
      for (const part of [`${name.length}:${name}`, ...bytes]) {
        hash.update(part);
        mac.update(part);
      }
      expect(sha256(name, ...bytes)).toEqual(hash.copy().digest());
      expect(sha256(name, ...bytes, 'text')).toEqual(hash.update('text').digest());
      expect(signing.mac(name, ...bytes)).toEqual(mac.digest());
    }),
  );
});

test('a list of keys may have spaces, line breaks and padding', () => {
  const idsOf = (list: string) => parseKeyRing(list).all.map((key) => key.id);
  expect(idsOf(` ${newer}= ,\n${older}\n`)).toEqual(idsOf(`${newer},${older}`));
});

test.each([
  ['empty', '', 'key 1'],
  ['a comma alone', ',', 'key 1'],
  ['a comma at the end', `${older},`, 'key 2'],
  ['a key that is too short', older.slice(0, -2), 'key 1'],
  ['a key that is too long', `${older}AAAA`, 'key 1'],
  ['a key with stray bits in its last character', `${older.slice(0, -1)}B`, 'key 1'],
  ['a key in hex', Buffer.from(older, 'base64url').toString('hex'), 'key 1'],
  ['a list with an invalid second key', `${older},password`, 'key 2'],
  ['32 equal bytes', Buffer.alloc(32, 'x').toString('base64url'), 'key 1'],
  ['a list with the same key twice', `${older},${newer},${older}`, 'duplicate'],
])('%s is refused in a message that does not contain the key', (_, list, phrase) => {
  expect(() => parseKeyRing(list)).toThrow(phrase);
  const keys = list.split(',').filter((text) => text.length > 3);
  for (const key of keys) expect(() => parseKeyRing(list)).not.toThrow(key);
});
