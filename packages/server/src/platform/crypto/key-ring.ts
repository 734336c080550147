import { hmac } from './hash.ts';

const keyBytes = 32;
const keyIdBytes = 5;

export interface ServerKey {
  /** Identifies the key inside a handle and reveals nothing about it. */
  readonly id: Buffer;
  /** HMAC-SHA-256 over a label and the parts. */
  mac(label: string, ...parts: Uint8Array[]): Buffer;
}

/** The server's keys, newest first. The first one signs, all of them verify. */
export interface KeyRing {
  readonly signing: ServerKey;
  readonly all: readonly ServerKey[];
  find(id: Uint8Array): ServerKey | undefined;
}

/** The keys of the security log. Retired keys still verify its seals. */
export type LogKeys = Pick<KeyRing, 'signing' | 'find'>;

function createKey(secret: Buffer): ServerKey {
  const mac = (label: string, ...parts: Uint8Array[]) => hmac(secret, label, ...parts);
  return { id: mac('key id').subarray(0, keyIdBytes), mac };
}

/** @throws {Error} whose message gives the position of the key, never the key itself */
function parseKeys(list: string): ServerKey[] {
  const keys = list.split(',').map((text, index) => {
    const trimmed = text.trim().replace(/=+$/, '');
    const secret = Buffer.from(trimmed, 'base64url');
    if (secret.length !== keyBytes || secret.toString('base64url') !== trimmed) {
      throw new Error(`key ${index + 1} is not ${keyBytes} bytes in base64url`);
    }
    if (secret.every((byte) => byte === secret[0])) throw new Error(`key ${index + 1} is not random`);
    return createKey(secret);
  });
  if (new Set(keys.map((key) => key.id.toString('hex'))).size !== keys.length) {
    throw new Error('duplicate key');
  }
  return keys;
}

/**
 * Parses a comma-separated list of 32-byte keys in base64url, newest first.
 * @throws {Error} whose message gives the position of the key, never the key itself
 */
export function parseKeyRing(list: string): KeyRing {
  const keys = parseKeys(list);
  const [signing] = keys;
  if (!signing) throw new Error('no key is set');
  return { signing, all: keys, find: (id) => keys.find((key) => key.id.equals(id)) };
}

/**
 * Adds the keys of `LATCHKEY_RETIRED_KEYS`, for the security log only.
 * @throws {Error} whose message gives the position of the key, never the key itself
 */
export function withRetiredKeys(ring: KeyRing, list: string): LogKeys {
  const retired = parseKeys(list);
  const unretired = retired.findIndex((key) => ring.find(key.id));
  if (unretired >= 0) throw new Error(`key ${unretired + 1} is still in LATCHKEY_KEYS`);
  return {
    signing: ring.signing,
    find: (id) => ring.find(id) ?? retired.find((key) => key.id.equals(id)),
  };
}

/** A new random key in the format of the setting and of the key file. */
export const generateKey = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(keyBytes))).toString('base64url');
