import { timingSafeEqual } from 'node:crypto';
import type { KeyRing, ServerKey } from './primitives.ts';

/**
 * The kinds of handle and their prefixes, by which secret scanners find leaked ones. The MAC covers the
 * prefix, so a handle of one kind is never accepted as another.
 */
export const handlePrefix = {
  accessToken: 'lk_at_',
  refreshToken: 'lk_rt_',
  browserSession: 'lk_bs_',
  deviceCode: 'lk_dc_',
  authorizationCode: 'lk_ac_',
  magicLink: 'lk_ml_',
  magicLinkRequest: 'lk_mr_',
  emailChange: 'lk_ec_',
  notice: 'lk_nm_',
  accessKey: 'lk_ak_',
} as const;
export type HandleKind = keyof typeof handlePrefix;

/** `value` is when the handle expires (milliseconds since 1970) or, in a refresh token, its generation. */
export interface Handle {
  readonly subject: Buffer;
  readonly value: number;
}

export const subjectBytes = 16;
const formatVersion = 1;

// Version (1 byte), key id (5), subject (16), value (6), MAC (32). 60 bytes leave no spare bits in base64url,
// so each handle has exactly one spelling.
const keyIdOffset = 1;
const subjectOffset = 6;
const valueOffset = subjectOffset + subjectBytes;
const valueBytes = 6;
const macOffset = valueOffset + valueBytes;
const handleBytes = macOffset + 32;
const encoded = new RegExp(`^[A-Za-z0-9_-]{${(handleBytes / 3) * 4}}$`);

/** The bytes of a handle. The MAC also covers `binding`, which is not in the handle: readers must know it. */
function encode(key: ServerKey, label: string, handle: Handle, binding: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(handleBytes);
  bytes[0] = formatVersion;
  bytes.set(key.id, keyIdOffset);
  bytes.set(handle.subject, subjectOffset);
  bytes.writeUIntBE(handle.value, valueOffset, valueBytes);
  bytes.set(key.mac(label, bytes.subarray(0, macOffset), binding), macOffset);
  return bytes;
}

/** A handle with a valid MAC, and the key of that MAC. */
export interface ReadHandle extends Handle {
  readonly key: ServerKey;
}

function decode(keys: KeyRing, label: string, text: string, binding: Uint8Array): ReadHandle | undefined {
  if (!encoded.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== handleBytes || bytes[0] !== formatVersion) return undefined;
  const key = keys.find(bytes.subarray(keyIdOffset, subjectOffset));
  if (!key) return undefined;
  const mac = key.mac(label, bytes.subarray(0, macOffset), binding);
  if (!timingSafeEqual(mac, bytes.subarray(macOffset))) return undefined;
  return {
    subject: bytes.subarray(subjectOffset, valueOffset),
    value: bytes.readUIntBE(valueOffset, valueBytes),
    key,
  };
}

const unbound = new Uint8Array();

/** Creates a handle under the signing key of the ring. The same input gives the same handle. */
export const mintHandle = (keys: KeyRing, kind: HandleKind, handle: Handle): string =>
  handlePrefix[kind] + encode(keys.signing, handlePrefix[kind], handle, unbound).toString('base64url');

/** Verifies a handle. Undefined if malformed, forged, of another kind or under a key outside the ring. */
export function readHandle(keys: KeyRing, kind: HandleKind, text: string): ReadHandle | undefined {
  const prefix = handlePrefix[kind];
  return text.startsWith(prefix) ? decode(keys, prefix, text.slice(prefix.length), unbound) : undefined;
}

/** What a challenge is for. The MAC covers this label in place of a prefix; it differs from every prefix. */
const challengeLabel = {
  passkeyLogin: 'challenge: passkey login',
  passkeyRegistration: 'challenge: passkey registration',
  touch: 'challenge: touch',
  authorizationRequest: 'challenge: authorization request',
} as const;
export type ChallengeKind = keyof typeof challengeLabel;

/**
 * Creates a challenge: a handle without a prefix, because WebAuthn challenges are bytes. With `binding` (a
 * session or a request), it is valid only together with that value.
 */
export const mintChallenge = (keys: KeyRing, kind: ChallengeKind, handle: Handle, binding = ''): string =>
  encode(keys.signing, challengeLabel[kind], handle, Buffer.from(binding)).toString('base64url');

/** Verifies a challenge. Undefined if malformed, forged, of another kind or bound to something else. */
export const readChallenge = (keys: KeyRing, kind: ChallengeKind, text: string, binding = '') =>
  decode(keys, challengeLabel[kind], text, Buffer.from(binding));
