import { SHA256 } from 'bun';

const blockBytes = 64;
const digestBytes = 32;

/**
 * Every input is concatenated in this buffer, after room for the first block of an HMAC, and hashed in one call. A hasher
 * object for each hash would cost several times as much as the hash itself.
 */
let scratch = Buffer.alloc(4096);

/**
 * Writes a label and the parts into the buffer and returns where they end. The label's length comes first, so that no two
 * combinations of label and parts give the same bytes.
 */
function fillScratch(label: string, parts: readonly (Uint8Array | string)[]): number {
  const maxBytes = parts.reduce((sum, part) => sum + part.length * 3, blockBytes + 8 + label.length * 3);
  if (maxBytes > scratch.length) scratch = Buffer.alloc(maxBytes);
  let end = blockBytes + scratch.write(`${label.length}:${label}`, blockBytes);
  for (const part of parts) {
    if (typeof part === 'string') end += scratch.write(part, end);
    else {
      scratch.set(part, end);
      end += part.length;
    }
  }
  return end;
}

/** SHA-256 over a label and the parts. Each use has its own label, so hashes of one use reveal nothing about another. */
export function sha256(label: string, ...parts: (Uint8Array | string)[]): Buffer {
  const end = fillScratch(label, parts);
  const digest = Buffer.allocUnsafe(digestBytes);
  SHA256.hash(scratch.subarray(blockBytes, end), digest);
  return digest;
}

/**
 * HMAC-SHA-256 over a label and the parts. The secret must be at most 64 bytes long.
 * @see RFC 2104
 */
export function hmacUnder(secret: Uint8Array): (label: string, ...parts: Uint8Array[]) => Buffer {
  const padded = (byte: number) => Buffer.alloc(blockBytes).map((_, index) => (secret[index] ?? 0) ^ byte);
  const inner = padded(0x36);
  const outer = Buffer.concat([padded(0x5c), Buffer.alloc(digestBytes)]);
  const innerDigest = outer.subarray(blockBytes);
  return (label, ...parts) => {
    const end = fillScratch(label, parts);
    scratch.set(inner);
    SHA256.hash(scratch.subarray(0, end), innerDigest);
    const digest = Buffer.allocUnsafe(digestBytes);
    SHA256.hash(outer, digest);
    return digest;
  };
}

/** Stored in place of a program's user agent, to recognize requests of the same program. */
export const programHash = (program: string): string => sha256('program', program).toString('base64url');

/** Stored in place of an idempotency key, to recognize the key together with the token it was sent with. */
export const idempotencyHash = (secret: Uint8Array, key: string | undefined): string | null =>
  key === undefined ? null : sha256('idempotency key', secret, key).toString('base64url');
