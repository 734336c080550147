import { sha256 } from '../../platform/crypto/hash.ts';
import type { Random } from '../../platform/crypto/random.ts';

/** A service key as shown and sent: `id:secret`. */
export interface ServiceCredentials {
  readonly id: string;
  readonly secret: string;
}

export const secretBytes = 32;

/** The prefix of every secret, so that secret scanners can find leaked ones. */
const secretPrefix = 'lk_sk_';

const wellFormed = /^(svc_[\w-]{22}):(lk_sk_[\w-]{43})$/;

/** A new secret, and the hash to store. */
export function newSecret(random: Random): { readonly secret: string; readonly hash: string } {
  const secret = secretPrefix + random(secretBytes).toString('base64url');
  return { secret, hash: secretHash(secret).toString('base64url') };
}

/** One round of hashing suffices for a secret of 256 random bits. */
export const secretHash = (secret: string): Buffer => sha256('service key', secret);

/** Clients may form-encode id and secret before they apply Basic. @see RFC 6749 section 2.3.1 */
const formDecoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

/** Reads a service key from an `Authorization` header; undefined unless it is a well-formed key by HTTP Basic. */
export function readBasic(authorization: string | null): ServiceCredentials | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? [];
  const decoded = encoded && formDecoded(Buffer.from(encoded, 'base64').toString('utf8'));
  const [, id, secret] = wellFormed.exec(decoded ?? '') ?? [];
  return id && secret ? { id, secret } : undefined;
}
