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

function createKey(secret: Buffer): ServerKey {
  const mac = hmacUnder(secret);
  return { id: mac('key id').subarray(0, keyIdBytes), mac };
}

/**
 * Reads a comma-separated list of 32-byte keys in base64url, newest first.
 * @throws {Error} with a sentence that names the place, never the key
 */
export function parseKeyRing(list: string): KeyRing {
  const keys = list.split(',').map((text, index) => {
    const trimmed = text.trim().replace(/=+$/, '');
    const secret = Buffer.from(trimmed, 'base64url');
    if (secret.length !== keyBytes || secret.toString('base64url') !== trimmed) {
      throw new Error(`key ${index + 1} is not ${keyBytes} bytes in base64url`);
    }
    if (secret.every((byte) => byte === secret[0])) throw new Error(`key ${index + 1} is not random`);
    return createKey(secret);
  });
  const [signing] = keys;
  if (!signing) throw new Error('there is no key');
  const find = (id: Uint8Array) => keys.find((key) => key.id.equals(id));
  if (new Set(keys.map((key) => key.id.toString('hex'))).size !== keys.length) {
    throw new Error('a key stands twice');
  }
  return { signing, all: keys, find };
}

/** A new key, as the setting and the key file spell it. */
export const generateKey = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(keyBytes))).toString('base64url');
