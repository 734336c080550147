import { SHA256 } from 'bun';

const blockBytes = 64;
const digestBytes = 32;

/**
 * What is hashed is put together here, behind room for one block, and hashed in one go: a hasher of its own for
 * each hash costs several times as much as the hash.
 */
let desk = Buffer.alloc(4096);

/** Lays out a label and the parts; the label's length goes first, so no two inputs run together. Where they end. */
function layOut(label: string, parts: readonly (Uint8Array | string)[]): number {
  const greatest = parts.reduce((sum, part) => sum + part.length * 3, blockBytes + 8 + label.length * 3);
  if (greatest > desk.length) desk = Buffer.alloc(greatest);
  let end = blockBytes + desk.write(`${label.length}:${label}`, blockBytes);
  for (const part of parts) {
    if (typeof part === 'string') end += desk.write(part, end);
    else {
      desk.set(part, end);
      end += part.length;
    }
  }
  return end;
}

/** SHA-256 over a label and the parts, so that one use of a secret says nothing about another. */
export function sha256(label: string, ...parts: (Uint8Array | string)[]): Buffer {
  const end = layOut(label, parts);
  const digest = Buffer.allocUnsafe(digestBytes);
  SHA256.hash(desk.subarray(blockBytes, end), digest);
  return digest;
}

/**
 * HMAC-SHA-256 under a secret of at most a block, over a label and the parts.
 * @see RFC 2104
 */
export function hmacUnder(secret: Uint8Array): (label: string, ...parts: Uint8Array[]) => Buffer {
  const padded = (byte: number) => Buffer.alloc(blockBytes).map((_, index) => (secret[index] ?? 0) ^ byte);
  const inner = padded(0x36);
  const outer = Buffer.concat([padded(0x5c), Buffer.alloc(digestBytes)]);
  const innerDigest = outer.subarray(blockBytes);
  return (label, ...parts) => {
    const end = layOut(label, parts);
    desk.set(inner);
    SHA256.hash(desk.subarray(0, end), innerDigest);
    const digest = Buffer.allocUnsafe(digestBytes);
    SHA256.hash(outer, digest);
    return digest;
  };
}

/** What is stored of a program's user agent: enough to tell whether another request comes from the same program. */
export const programHash = (program: string): string => sha256('program', program).toString('base64url');

/** What is stored of an idempotency key: enough to know it again together with the token it came with. */
export const idempotencyHash = (secret: Uint8Array, key: string | undefined): string | null =>
  key === undefined ? null : sha256('idempotency key', secret, key).toString('base64url');
