import { timingSafeEqual } from 'node:crypto';
import type { KeyRing, ServerKey } from './key-ring.ts';

/**
 * The kinds of handle and the prefix each carries, so that a leaked one can be searched for. A handle of one
 * kind never passes for another: the prefix is part of what is signed.
 */
export const handlePrefix = {
  accessToken: 'lk_at_',
  refreshToken: 'lk_rt_',
  browserSession: 'lk_bs_',
  deviceCode: 'lk_dc_',
  magicLink: 'lk_ml_',
  magicLinkRequest: 'lk_mr_',
} as const;
export type HandleKind = keyof typeof handlePrefix;

/** What a handle says. `value` is when it ends (milliseconds since 1970) or, in a refresh token, its generation. */
export interface Handle {
  readonly subject: Buffer;
  readonly value: number;
}

export const subjectBytes = 16;
const formatVersion = 1;

// version 1 | key id 5 | subject 16 | value 6 | MAC 32: 60 bytes, so base64url has no spare bits to vary.
const keyIdAt = 1;
const subjectAt = 6;
const valueAt = subjectAt + subjectBytes;
const valueBytes = 6;
const macAt = valueAt + valueBytes;
const handleBytes = macAt + 32;
const encoded = new RegExp(`^[A-Za-z0-9_-]{${(handleBytes / 3) * 4}}$`);

/** Makes the one spelling of a handle under a key of the ring, the signing key unless another is named. */
export function mintHandle(
  keys: KeyRing,
  kind: HandleKind,
  handle: Handle,
  key: ServerKey = keys.signing,
): string {
  const bytes = Buffer.allocUnsafe(handleBytes);
  bytes[0] = formatVersion;
  bytes.set(key.id, keyIdAt);
  bytes.set(handle.subject, subjectAt);
  bytes.writeUIntBE(handle.value, valueAt, valueBytes);
  bytes.set(key.mac(handlePrefix[kind], bytes.subarray(0, macAt)), macAt);
  return handlePrefix[kind] + bytes.toString('base64url');
}

/** A handle that proved itself, and the key it did so with. */
export interface ReadHandle extends Handle {
  readonly key: ServerKey;
}

/** Reads a handle, or nothing when it is forged, cut, of another kind or under a key that is not in the ring. */
export function readHandle(keys: KeyRing, kind: HandleKind, text: string): ReadHandle | undefined {
  const prefix = handlePrefix[kind];
  if (!text.startsWith(prefix)) return undefined;
  const body = text.slice(prefix.length);
  if (!encoded.test(body)) return undefined;
  const bytes = Buffer.from(body, 'base64url');
  if (bytes[0] !== formatVersion) return undefined;
  const key = keys.find(bytes.subarray(keyIdAt, subjectAt));
  if (!key) return undefined;
  if (!timingSafeEqual(key.mac(prefix, bytes.subarray(0, macAt)), bytes.subarray(macAt))) return undefined;
  return { subject: bytes.subarray(subjectAt, valueAt), value: bytes.readUIntBE(valueAt, valueBytes), key };
}
