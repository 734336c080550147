import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { KeyRing, Random, ServerKey } from './primitives.ts';

const keyIdBytes = 5;
const nonceBytes = 12;
const tagBytes = 16;
const algorithm = 'aes-256-gcm';

/** A key for each label: a ciphertext of one never decrypts under another. `seal` is part of the format. */
const encryptionKey = (key: ServerKey, label: string): Buffer => key.mac(`seal: ${label}`);

/**
 * Encrypts a secret with AES-256-GCM under the newest key, for one `place`, the row it is stored in. The
 * result is key id (5 bytes), nonce (12), ciphertext and tag (16) in base64url.
 */
export function encrypt(keys: KeyRing, random: Random, label: string, place: string, secret: Uint8Array) {
  const nonce = random(nonceBytes);
  const encipher = createCipheriv(algorithm, encryptionKey(keys.signing, label), nonce);
  encipher.setAAD(Buffer.from(place));
  const ciphertext = [encipher.update(secret), encipher.final()];
  return Buffer.concat([keys.signing.id, nonce, ...ciphertext, encipher.getAuthTag()]).toString('base64url');
}

/** The secret and the key that decrypted it; undefined when that key left the ring or any byte differs. */
export function decrypt(keys: KeyRing, label: string, place: string, encrypted: string) {
  const bytes = Buffer.from(encrypted, 'base64url');
  const key = keys.find(bytes.subarray(0, keyIdBytes));
  if (!key || bytes.length < keyIdBytes + nonceBytes + tagBytes) return undefined;
  const nonce = bytes.subarray(keyIdBytes, keyIdBytes + nonceBytes);
  const decipher = createDecipheriv(algorithm, encryptionKey(key, label), nonce);
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const secret = decipher.update(bytes.subarray(keyIdBytes + nonceBytes, -tagBytes));
    return { secret: Buffer.concat([secret, decipher.final()]), key };
  } catch {
    return undefined;
  }
}
