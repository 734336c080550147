// Random bytes, ids, hashes, and the server's keys.

import { CryptoHasher } from 'bun';

/** A source of cryptographically random bytes. Tests pass their own. */
export type Random = (bytes: number) => Buffer;

export const systemRandom: Random = (bytes) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes)));

const idBytes = 16;

/** The id of what a secret or text stands for: 128 bits of its hash, in base64url. */
export const hashedId = (label: string, ...parts: (Uint8Array | string)[]): string =>
  sha256(label, ...parts)
    .subarray(0, idBytes)
    .toString('base64url');

/** A new opaque identifier: the prefix and 128 random bits in base64url. */
export const newId = (prefix: 'usr_' | 'pk_' | 'org_' | 'evt_' | 'mail_' | 'svc_', random: Random): string =>
  prefix + random(idBytes).toString('base64url');

const spanIdBytes = 8;

/** A new id of a span: 16 hexadecimal digits, not all zero. @see W3C Trace Context, section 3.2.2.4 */
export const newSpanId = (random: Random): string => {
  const id = random(spanIdBytes);
  id[0] = (id[0] ?? 0) | 1;
  return id.toString('hex');
};

/** The label's length comes first, so that no two combinations of label and parts give the same bytes. */
function digest(hasher: CryptoHasher, label: string, parts: readonly (Uint8Array | string)[]): Buffer {
  hasher.update(`${label.length}:${label}`);
  for (const part of parts) hasher.update(part);
  return hasher.digest();
}

/** SHA-256 over a label and the parts. Each use has its own label: its hashes reveal nothing about others. */
export const sha256 = (label: string, ...parts: (Uint8Array | string)[]): Buffer =>
  digest(new CryptoHasher('sha256'), label, parts);

/** Stored in place of a program's user agent, to recognize requests of the same program. */
export const programHash = (program: string): string => sha256('program', program).toString('base64url');

/** Stored in place of an idempotency key, to recognize the key together with the token it was sent with. */
export const idempotencyHash = (secret: Uint8Array, key: string | undefined): string | null =>
  key === undefined ? null : sha256('idempotency key', secret, key).toString('base64url');

/** Stored where a form has no idempotency key, to recognize the same token in a form of the same sender. */
export const senderHash = (secret: Uint8Array, sender: readonly (string | null)[]): string =>
  sha256('sender of a form', secret, JSON.stringify(sender)).toString('base64url');

const keyBytes = 32;
const keyIdBytes = 5;

export interface ServerKey {
  /** Identifies the key inside a handle and reveals nothing about it. */
  readonly id: Buffer;
  /** HMAC-SHA-256 over a label and the parts. @see RFC 2104 */
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
  const mac: ServerKey['mac'] = (label, ...parts) => digest(new CryptoHasher('sha256', secret), label, parts);
  return { id: mac('key id').subarray(0, keyIdBytes), mac };
}

/** @throws {Error} whose message gives the position of the invalid key, never the key itself */
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
 * @throws {Error} whose message gives the position of the invalid key, never the key itself
 */
export function parseKeyRing(list: string): KeyRing {
  const keys = parseKeys(list);
  const [signing] = keys;
  if (!signing) throw new Error('no key is set');
  return { signing, all: keys, find: (id) => keys.find((key) => key.id.equals(id)) };
}

/**
 * Adds the keys of `LATCHKEY_RETIRED_KEYS`, which verify the security log only.
 * @throws {Error} whose message gives the position of the invalid key, never the key itself
 */
export function withRetiredKeys(ring: KeyRing, list: string): LogKeys {
  const retired = parseKeys(list);
  const unretired = retired.findIndex((key) => ring.find(key.id));
  if (unretired >= 0) throw new Error(`key ${unretired + 1} is still in LATCHKEY_KEYS`);
  return { signing: ring.signing, find: (id) => ring.find(id) ?? retired.find((key) => key.id.equals(id)) };
}

/** A new random key in the format of the setting and of the key file. */
export const generateKey = (): string => systemRandom(keyBytes).toString('base64url');
