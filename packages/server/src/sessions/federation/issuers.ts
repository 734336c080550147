// The keys of trusted issuers. Each node keeps its own.
// @see OpenID Connect Discovery 1.0 section 4

import { compactVerify, createLocalJWKSet, errors, type JSONWebKeySet } from 'jose';
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { FetchError, fetchDocument, type Resolve } from '../../platform/outgoing/fetch-document.ts';
import { isLoopbackHost } from '../../platform/values/loopback.ts';
import { assertionAlgorithms } from './assertion.ts';

const maxDocumentBytes = 512 * 1024;
const documentTimeoutMs = 5_000;

const keptMs = 10 * 60_000;
/** How long the last keys are used while the issuer cannot be reached. */
const keptWithoutIssuerMs = 86_400_000;
/** The shortest time between requests for a key that the issuer did not have, and after a request that failed. */
const askAgainMs = 60_000;

type KeySet = ReturnType<typeof createLocalJWKSet>;

export type Issuers = ReturnType<typeof openIssuers>;

/** @param resolve the addresses of a host, for tests */
export function openIssuers(ctx: Context, resolve?: Resolve) {
  const issuers = new Map<string, ReturnType<typeof openIssuer>>();
  return {
    /** `valid` if a key of the issuer signed the token; `unavailable` if no keys of the issuer are known. */
    verify: (url: string, assertion: string) => {
      const verify = issuers.get(url) ?? openIssuer(ctx, url, resolve);
      issuers.set(url, verify);
      return verify(assertion);
    },
  };
}

/** Verifies the signatures of the tokens of one issuer. */
function openIssuer(ctx: Context, url: string, resolve: Resolve | undefined) {
  let keys: KeySet | undefined;
  let fetching: Promise<boolean> | undefined;
  // In milliseconds since 1970.
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let askedForKeyAt = Number.NEGATIVE_INFINITY;
  const since = (time: number): number => Math.abs(ctx.clock() - time);

  /** Fetches the keys; false if that failed. Requests at the same time share one fetch. */
  const fetchKeys = (): Promise<boolean> => {
    fetching ??= fetchKeySet(ctx, url, resolve).then((fetched) => {
      fetching = undefined;
      if (fetched) [keys, fetchedAt] = [fetched, ctx.clock()];
      else failedAt = ctx.clock();
      return fetched !== undefined;
    });
    return fetching;
  };

  const hasFailed = (): boolean => !fetching && since(failedAt) < askAgainMs;

  const currentKeys = async (): Promise<KeySet | undefined> => {
    if (since(fetchedAt) < keptMs) return keys;
    if (!hasFailed() && (await fetchKeys())) return keys;
    return since(fetchedAt) < keptWithoutIssuerMs ? keys : undefined;
  };

  /** Fetches the keys again for an unknown key, at most once a minute; false if it did not. */
  const refetchKeys = async (): Promise<boolean> => {
    if (hasFailed() || (!fetching && since(askedForKeyAt) < askAgainMs)) return false;
    askedForKeyAt = ctx.clock();
    return fetchKeys();
  };

  const isSigned = (by: KeySet, assertion: string) =>
    compactVerify(assertion, by, { algorithms: assertionAlgorithms }).then(
      () => 'valid' as const,
      (error: unknown) =>
        error instanceof errors.JWKSNoMatchingKey ? ('unknown_key' as const) : ('invalid' as const),
    );

  return async (assertion: string): Promise<'valid' | 'invalid' | 'unavailable'> => {
    const current = await currentKeys();
    if (!current) return 'unavailable';
    const result = await isSigned(current, assertion);
    if (result !== 'unknown_key') return result;
    return (await refetchKeys()) && (await isSigned(keys!, assertion)) === 'valid' ? 'valid' : 'invalid';
  };
}

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });

/** Entries that are no objects are ignored, as keys of an unknown type are. @see RFC 7517 section 5 */
const keySet = z.object({
  keys: z.array(z.unknown()).transform((keys) => keys.filter((key) => jwk.safeParse(key).success)),
});
const jwk = z.looseObject({});

/** Undefined if the issuer cannot be reached or its documents cannot be used. */
async function fetchKeySet(
  ctx: Context,
  issuer: string,
  resolve: Resolve | undefined,
): Promise<KeySet | undefined> {
  const fetchJson = async (url: string): Promise<unknown> => {
    const parsed = URL.parse(url);
    const allowLoopback = ctx.config.isLocal;
    const isOverHttp = parsed?.protocol === 'http:' && allowLoopback && isLoopbackHost(parsed.hostname);
    if (!parsed || !(isOverHttp || parsed.protocol === 'https:')) throw new FetchError('it is not https');
    const { json } = await fetchDocument(parsed, {
      maxBytes: maxDocumentBytes,
      timeoutMs: documentTimeoutMs,
      allowLoopback,
      resolve,
    });
    return json;
  };
  try {
    const found = discovery.parse(
      await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`),
    );
    if (found.issuer !== issuer) throw new FetchError('it belongs to another issuer');
    return createLocalJWKSet(keySet.parse(await fetchJson(found.jwks_uri)) as JSONWebKeySet);
  } catch (error) {
    const reason = error instanceof FetchError ? error.message : 'a document is not valid';
    ctx.log.warn({ issuer, reason }, 'the keys of a trusted issuer could not be fetched');
    return undefined;
  }
}
