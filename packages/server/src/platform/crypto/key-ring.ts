import { hmacUnder } from './hash.ts';

const keyBytes = 32;
const keyIdBytes = 5;

export interface ServerKey {
  /** Names the key inside a handle; says nothing about it. */
  readonly id: Buffer;
  /** HMAC-SHA-256 over a label and the parts. */
  mac(label: string, ...parts: Uint8Array[]): Buffer;
}

/** The server's keys, newest first: the first signs, all verify. */
export interface KeyRing {
  readonly signing: ServerKey;
  readonly all: readonly ServerKey[];
  find(id: Uint8Array): ServerKey | undefined;
}

/** The keys of the security log: the ring seals, and keys that left the ring verify, too. */
export type LogKeys = Pick<KeyRing, 'signing' | 'find'>;

function createKey(secret: Buffer): ServerKey {
  const mac = hmacUnder(secret);
  return { id: mac('key id').subarray(0, keyIdBytes), mac };
}

/** @throws {Error} with a sentence that names the place, never the key */
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
    throw new Error('a key stands twice');
  }
  return keys;
}

/**
 * Reads a comma-separated list of 32-byte keys in base64url, newest first.
 * @throws {Error} with a sentence that names the place, never the key
 */
export function parseKeyRing(list: string): KeyRing {
  const keys = parseKeys(list);
  const [signing] = keys;
  if (!signing) throw new Error('there is no key');
  return { signing, all: keys, find: (id) => keys.find((key) => key.id.equals(id)) };
}

/**
 * Adds the keys that left the ring, written as the ring is, for the security log alone.
 * @throws {Error} with a sentence that names the place, never the key
 */
export function withRetiredKeys(ring: KeyRing, list: string): LogKeys {
  const retired = parseKeys(list);
  const kept = retired.findIndex((key) => ring.find(key.id));
  if (kept >= 0) throw new Error(`key ${kept + 1} is still in LATCHKEY_KEYS`);
  return {
    signing: ring.signing,
    find: (id) => ring.find(id) ?? retired.find((key) => key.id.equals(id)),
  };
}

/** A new key, as the setting and the key file spell it. */
export const generateKey = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(keyBytes))).toString('base64url');
