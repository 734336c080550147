import { CryptoHasher } from 'bun';

type Part = Uint8Array | string;

/** The label's length comes first, so that no two combinations of label and parts give the same bytes. */
function digest(hasher: CryptoHasher, label: string, parts: readonly Part[]): Buffer {
  hasher.update(`${label.length}:${label}`);
  for (const part of parts) hasher.update(part);
  return hasher.digest();
}

/** SHA-256 over a label and the parts. Each use has its own label, so hashes of one use reveal nothing about another. */
export const sha256 = (label: string, ...parts: Part[]): Buffer =>
  digest(new CryptoHasher('sha256'), label, parts);

/** HMAC-SHA-256 over a label and the parts. @see RFC 2104 */
export const hmac = (secret: Uint8Array, label: string, ...parts: Uint8Array[]): Buffer =>
  digest(new CryptoHasher('sha256', secret), label, parts);

/** Stored in place of a program's user agent, to recognize requests of the same program. */
export const programHash = (program: string): string => sha256('program', program).toString('base64url');

/** Stored in place of an idempotency key, to recognize the key together with the token it was sent with. */
export const idempotencyHash = (secret: Uint8Array, key: string | undefined): string | null =>
  key === undefined ? null : sha256('idempotency key', secret, key).toString('base64url');

/** Stored where a form has no idempotency key, to recognize the same token in a form of the same sender. */
export const senderHash = (secret: Uint8Array, sender: readonly (string | null)[]): string =>
  sha256('sender of a form', secret, JSON.stringify(sender)).toString('base64url');
