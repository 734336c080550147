import { expect, test } from 'bun:test';
import { decrypt, encrypt } from './encryption.ts';
import { generateKey, parseKeyRing } from './key-ring.ts';
import { systemRandom } from './random.ts';

const [older, newer] = [generateKey(), generateKey()];
const ring = parseKeyRing(older);
const secret = Buffer.from('a secret of some length');
const sealed = encrypt(ring, systemRandom, 'use', 'place', secret);

test('what is sealed opens under the same ring, label and place, and says nothing before', () => {
  expect(decrypt(ring, 'use', 'place', sealed)?.secret).toEqual(secret);
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('secret');
  expect(encrypt(ring, systemRandom, 'use', 'place', secret)).not.toBe(sealed);
});

test('another label, place or ring opens nothing, and neither does a changed or cut text', () => {
  expect(decrypt(ring, 'other use', 'place', sealed)).toBeUndefined();
  expect(decrypt(ring, 'use', 'other place', sealed)).toBeUndefined();
  expect(decrypt(parseKeyRing(newer), 'use', 'place', sealed)).toBeUndefined();
  const bytes = Buffer.from(sealed, 'base64url');
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    expect(decrypt(ring, 'use', 'place', changed.toString('base64url'))).toBeUndefined();
    expect(decrypt(ring, 'use', 'place', bytes.subarray(0, at).toString('base64url'))).toBeUndefined();
  }
});

test('an older key of the ring still opens, and is named; once retired it opens no more', () => {
  const both = parseKeyRing(`${newer},${older}`);
  const opened = decrypt(both, 'use', 'place', sealed);
  expect(opened?.secret).toEqual(secret);
  expect(opened?.key).toBe(both.all[1]!);
  const again = encrypt(both, systemRandom, 'use', 'place', secret);
  expect(decrypt(parseKeyRing(newer), 'use', 'place', again)?.secret).toEqual(secret);
});
