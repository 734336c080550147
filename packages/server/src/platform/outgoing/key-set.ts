// The public keys of somebody else, fetched when they are needed. Each node keeps its own.

import { createPublicKey } from 'node:crypto';
import { compactVerify, createLocalJWKSet, decodeProtectedHeader, errors, type JSONWebKeySet } from 'jose';
import { z } from 'zod';

/** Of assertions. `Ed25519` is the fully specified name of the only EdDSA there is here. @see RFC 9864 */
export const assertionAlgorithms = ['RS256', 'ES256', 'EdDSA', 'Ed25519'];

/** The shortest time between requests for a key that was not among the fetched ones. */
const askAgainMs = 60_000;

/** A key of Ed25519 may call its algorithm by either name. */
const jwk = z.looseObject({}).transform((key) => (key['kty'] === 'OKP' ? { ...key, alg: undefined } : key));

/** Entries that are no objects are ignored, as keys of an unknown type are. @see RFC 7517 section 5 */
export const keySetDocument = z.object({
  keys: z
    .array(z.unknown())
    .transform((keys) => keys.flatMap((key) => jwk.safeParse(key).data ?? []) as JSONWebKeySet['keys']),
});

export interface FetchedKeys {
  readonly keys: JSONWebKeySet;
  readonly keptMs: number;
}

interface KeySource {
  /** Undefined if that failed. */
  fetch(): Promise<FetchedKeys | undefined>;
  /** How long the last keys are used while no others can be fetched. */
  readonly keptWithoutSourceMs: number;
  /** How long nothing is asked for after that failed. */
  readonly failureKeptMs: number;
  readonly known?: FetchedKeys | undefined;
}

/**
 * Verifies signatures with keys that are fetched. The result is `unavailable` if no keys are known.
 * @param admit is called before something is fetched, and throws to prevent it
 */
export type VerifySignature = (
  assertion: string,
  admit?: () => Promise<void>,
) => Promise<'valid' | 'invalid' | 'unavailable'>;

export function openKeySet(clock: () => number, source: KeySource): VerifySignature {
  let keys = source.known && withoutBrokenKeys(source.known.keys);
  let keptMs = source.known?.keptMs ?? 0;
  let fetching: Promise<boolean> | undefined;
  // In milliseconds since 1970.
  let fetchedAt = source.known ? clock() : Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let askedForKeyAt = Number.NEGATIVE_INFINITY;
  const since = (time: number): number => Math.abs(clock() - time);

  /** Fetches the keys; false if that failed. Requests at the same time share one fetch. */
  const fetchKeys = (): Promise<boolean> => {
    fetching ??= source.fetch().then((fetched) => {
      fetching = undefined;
      if (fetched) [keys, keptMs, fetchedAt] = [withoutBrokenKeys(fetched.keys), fetched.keptMs, clock()];
      else failedAt = clock();
      return fetched !== undefined;
    });
    return fetching;
  };

  const hasFailed = (): boolean => !fetching && since(failedAt) < source.failureKeptMs;

  const currentKeys = async (admit?: () => Promise<void>): Promise<JSONWebKeySet | undefined> => {
    if (since(fetchedAt) < keptMs) return keys;
    if (!hasFailed()) {
      if (!fetching) await admit?.();
      if (await fetchKeys()) return keys;
    }
    return since(fetchedAt) < source.keptWithoutSourceMs ? keys : undefined;
  };

  /**
   * Fetches the keys again for an unknown key, at most once a minute; false if that changed nothing. A
   * refusal by `admit` does not count: otherwise a client at its limit could keep a new key from others.
   */
  const refetchKeys = async (admit?: () => Promise<void>): Promise<boolean> => {
    const isTooSoon = () => hasFailed() || (!fetching && since(askedForKeyAt) < askAgainMs);
    if (isTooSoon()) return false;
    if (!fetching) await admit?.();
    if (isTooSoon()) return true;
    askedForKeyAt = clock();
    return fetchKeys();
  };

  return async (assertion, admit) => {
    const current = await currentKeys(admit);
    if (!current) return 'unavailable';
    const result = await verifySignature(current, assertion);
    if (result !== 'unknown_key') return result;
    return (await refetchKeys(admit)) && (await verifySignature(keys!, assertion)) === 'valid'
      ? 'valid'
      : 'invalid';
  };
}

/**
 * Without the keys that cannot be imported, such as a point that is not on its curve: WebCrypto leaves the
 * error of such an import behind, and the next HMAC of any request throws it. `createPublicKey` leaves none.
 */
const withoutBrokenKeys = ({ keys }: JSONWebKeySet): JSONWebKeySet => ({
  keys: keys.filter((key) => {
    try {
      return createPublicKey({ key, format: 'jwk' });
    } catch {
      return false;
    }
  }),
});

/** Verifies the signature of a compact JWT with one of these keys: the one it names, or any that fits. */
async function verifySignature(keys: JSONWebKeySet, assertion: string) {
  try {
    await compactVerify(assertion, createLocalJWKSet(keys), { algorithms: assertionAlgorithms });
    return 'valid';
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return 'unknown_key';
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return 'invalid';
    if (decodeProtectedHeader(assertion).kid !== undefined) return 'invalid';
    for await (const key of error) {
      const isSigned = await compactVerify(assertion, key, { algorithms: assertionAlgorithms }).then(
        () => true,
        () => false,
      );
      if (isSigned) return 'valid';
    }
    return 'invalid';
  }
}
