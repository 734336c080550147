// Under several keys: trust/introspection/signed.test.ts.

import { expect, test } from 'bun:test';
import { decrypt, encrypt } from './encryption.ts';
import { generateKey, parseKeyRing, systemRandom } from './primitives.ts';

const [older, newer] = [generateKey(), generateKey()];
const ring = parseKeyRing(older);
const secret = Buffer.from('a secret of some length');
const encrypted = encrypt(ring, systemRandom, 'use', 'place', secret);

test('an encrypted secret decrypts under the same ring, label and place, and is unreadable before', () => {
  expect(decrypt(ring, 'use', 'place', encrypted)?.secret).toEqual(secret);
  expect(Buffer.from(encrypted, 'base64url').toString('latin1')).not.toContain('secret');
  expect(encrypt(ring, systemRandom, 'use', 'place', secret)).not.toBe(encrypted);
});

test('decryption fails for another label, place or ring, and for a changed or truncated ciphertext', () => {
  expect(decrypt(ring, 'other use', 'place', encrypted)).toBeUndefined();
  expect(decrypt(ring, 'use', 'other place', encrypted)).toBeUndefined();
  expect(decrypt(parseKeyRing(newer), 'use', 'place', encrypted)).toBeUndefined();
  const bytes = Buffer.from(encrypted, 'base64url');
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    expect(decrypt(ring, 'use', 'place', changed.toString('base64url'))).toBeUndefined();
    expect(decrypt(ring, 'use', 'place', bytes.subarray(0, at).toString('base64url'))).toBeUndefined();
  }
});
