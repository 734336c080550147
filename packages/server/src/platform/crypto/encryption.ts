import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { KeyRing, ServerKey } from './key-ring.ts';
import type { Random } from './random.ts';

const keyIdBytes = 5;
const nonceBytes = 12;
const tagBytes = 16;
const cipher = 'aes-256-gcm';

/** One key of the ring for each use: what one label sealed opens under no other. */
const encryptionKey = (key: ServerKey, label: string): Buffer => key.mac(`seal: ${label}`);

/**
 * Encrypts a secret for the store under the newest key of the ring: key id 5 | nonce 12 | ciphertext | tag 16, in
 * base64url. `place` is where it belongs; moved elsewhere it does not open.
 */
export function encrypt(
  keys: KeyRing,
  random: Random,
  label: string,
  place: string,
  secret: Uint8Array,
): string {
  const nonce = random(nonceBytes);
  const encryption = createCipheriv(cipher, encryptionKey(keys.signing, label), nonce);
  encryption.setAAD(Buffer.from(place));
  const sealed = [encryption.update(secret), encryption.final(), encryption.getAuthTag()];
  return Buffer.concat([keys.signing.id, nonce, ...sealed]).toString('base64url');
}

/** What was sealed and the key that opens it, or nothing when that key left the ring or a byte was changed. */
export function decrypt(
  keys: KeyRing,
  label: string,
  place: string,
  sealed: string,
): { secret: Buffer; key: ServerKey } | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  const key = keys.find(bytes.subarray(0, keyIdBytes));
  if (!key || bytes.length < keyIdBytes + nonceBytes + tagBytes) return undefined;
  const nonce = bytes.subarray(keyIdBytes, keyIdBytes + nonceBytes);
  const decryption = createDecipheriv(cipher, encryptionKey(key, label), nonce);
  decryption.setAAD(Buffer.from(place));
  decryption.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const secret = decryption.update(bytes.subarray(keyIdBytes + nonceBytes, -tagBytes));
    return { secret: Buffer.concat([secret, decryption.final()]), key };
  } catch {
    return undefined;
  }
}
