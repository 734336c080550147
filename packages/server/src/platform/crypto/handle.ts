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
  emailChange: 'lk_ec_',
  notice: 'lk_nm_',
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

/** The bytes of a handle. `binding` is signed with it, but not part of it: who reads it must know it. */
function seal(key: ServerKey, label: string, handle: Handle, binding: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(handleBytes);
  bytes[0] = formatVersion;
  bytes.set(key.id, keyIdAt);
  bytes.set(handle.subject, subjectAt);
  bytes.writeUIntBE(handle.value, valueAt, valueBytes);
  bytes.set(key.mac(label, bytes.subarray(0, macAt), binding), macAt);
  return bytes;
}

/** A handle that proved itself, and the key it did so with. */
export interface ReadHandle extends Handle {
  readonly key: ServerKey;
}

// The handle being read: every request brings one, so its bytes are laid out in the same place each time.
const read = Buffer.alloc(handleBytes);
const readKeyId = read.subarray(keyIdAt, subjectAt);
const readSubject = read.subarray(subjectAt, valueAt);
const readFields = read.subarray(0, macAt);
const readMac = read.subarray(macAt);

function open(keys: KeyRing, label: string, text: string, binding: Uint8Array): ReadHandle | undefined {
  if (!encoded.test(text)) return undefined;
  if (read.write(text, 'base64url') !== handleBytes || read[0] !== formatVersion) return undefined;
  const key = keys.find(readKeyId);
  if (!key || !timingSafeEqual(key.mac(label, readFields, binding), readMac)) return undefined;
  return { subject: Buffer.from(readSubject), value: read.readUIntBE(valueAt, valueBytes), key };
}

const unbound = new Uint8Array();

/** Makes the one spelling of a handle under a key of the ring, the signing key unless another is named. */
export const mintHandle = (
  keys: KeyRing,
  kind: HandleKind,
  handle: Handle,
  key: ServerKey = keys.signing,
): string => handlePrefix[kind] + seal(key, handlePrefix[kind], handle, unbound).toString('base64url');

/** Reads a handle, or nothing when it is forged, cut, of another kind or under a key that is not in the ring. */
export function readHandle(keys: KeyRing, kind: HandleKind, text: string): ReadHandle | undefined {
  const prefix = handlePrefix[kind];
  return text.startsWith(prefix) ? open(keys, prefix, text.slice(prefix.length), unbound) : undefined;
}

/** What a challenge is for. The label is signed in the place of a handle's prefix; no prefix is like either. */
const challengeLabel = {
  passkeyLogin: 'challenge: passkey login',
  passkeyRegistration: 'challenge: passkey registration',
} as const;
export type ChallengeKind = keyof typeof challengeLabel;

/**
 * Makes a challenge: a handle without a prefix, since an authenticator takes it for bytes. With `binding` (a
 * session) it is good only together with that.
 */
export const mintChallenge = (keys: KeyRing, kind: ChallengeKind, handle: Handle, binding = ''): string =>
  seal(keys.signing, challengeLabel[kind], handle, Buffer.from(binding)).toString('base64url');

/** Reads a challenge, or nothing when it is forged, of another kind, or bound to something else. */
export const readChallenge = (
  keys: KeyRing,
  kind: ChallengeKind,
  text: string,
  binding = '',
): ReadHandle | undefined => open(keys, challengeLabel[kind], text, Buffer.from(binding));
