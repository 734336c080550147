import { sha256 } from '../../platform/crypto/hash.ts';
import type { Random } from '../../platform/crypto/random.ts';
import { readBasic } from '../../platform/values/basic.ts';

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

/** Reads a service key from an `Authorization` header; undefined unless it is a well-formed key by HTTP Basic. */
export function readServiceKey(authorization: string | null): ServiceCredentials | undefined {
  const [, id, secret] = wellFormed.exec(readBasic(authorization) ?? '') ?? [];
  return id && secret ? { id, secret } : undefined;
}
