import { CryptoHasher } from 'bun';

/** SHA-256 over a label and the parts, so that one use of a secret says nothing about another. */
export function sha256(label: string, ...parts: (Uint8Array | string)[]): Buffer {
  const hasher = new CryptoHasher('sha256');
  hasher.update(`${label.length}:${label}`);
  for (const part of parts) hasher.update(part);
  return hasher.digest();
}

/** What is stored of an idempotency key: enough to know it again together with the token it came with. */
export const idempotencyHash = (secret: Uint8Array, key: string | undefined): string | null =>
  key === undefined ? null : sha256('idempotency key', secret, key).toString('base64url');
