import { CryptoHasher } from 'bun';

/** SHA-256 over a label and the parts, so that one use of a secret says nothing about another. */
export function sha256(label: string, ...parts: (Uint8Array | string)[]): Buffer {
  const hasher = new CryptoHasher('sha256');
  hasher.update(`${label.length}:${label}`);
  for (const part of parts) hasher.update(part);
  return hasher.digest();
}
