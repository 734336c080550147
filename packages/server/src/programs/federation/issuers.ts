// The keys of trusted issuers. Each node keeps its own.
// @see OpenID Connect Discovery 1.0 section 4

import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { FetchError, fetchDocument, type Resolve } from '../../platform/outgoing/fetch-document.ts';
import { isLoopbackHost } from '../../platform/values/loopback.ts';
import { assertionAlgorithms, clockToleranceSeconds } from './assertion.ts';

const maxDocumentBytes = 512 * 1024;
const documentTimeoutMs = 5_000;

const keptMs = 10 * 60_000;
/** How long the last keys are used while the issuer cannot be reached. */
const keptWithoutIssuerMs = 86_400_000;
/** The shortest time between requests for a key that the issuer did not have, and after one that failed. */
const askAgainMs = 60_000;

type KeySet = ReturnType<typeof createLocalJWKSet>;

interface Issuer {
  readonly url: string;
  keys: KeySet | undefined;
  fetching: Promise<boolean> | undefined;
  /** In milliseconds since 1970. */
  fetchedAt: number;
  failedAt: number;
  askedForKeyAt: number;
}

export type Issuers = ReturnType<typeof openIssuers>;

/** @param resolve the addresses of a host, for tests */
export function openIssuers(ctx: Context, resolve?: Resolve) {
  const issuers = new Map<string, Issuer>();

  const issuerOf = (url: string): Issuer => {
    const issuer = issuers.get(url) ?? {
      url,
      keys: undefined,
      fetching: undefined,
      fetchedAt: Number.NEGATIVE_INFINITY,
      failedAt: Number.NEGATIVE_INFINITY,
      askedForKeyAt: Number.NEGATIVE_INFINITY,
    };
    issuers.set(url, issuer);
    return issuer;
  };

  /** Whether the keys are now those of the issuer. Requests at the same time share one fetch. */
  const fetchKeys = (issuer: Issuer): Promise<boolean> => {
    issuer.fetching ??= fetchKeySet(ctx, issuer.url, resolve).then((keys) => {
      issuer.fetching = undefined;
      if (keys) Object.assign(issuer, { keys, fetchedAt: ctx.clock() });
      else issuer.failedAt = ctx.clock();
      return keys !== undefined;
    });
    return issuer.fetching;
  };

  const since = (time: number): number => Math.abs(ctx.clock() - time);

  const currentKeys = async (issuer: Issuer): Promise<KeySet | undefined> => {
    if (since(issuer.fetchedAt) < keptMs) return issuer.keys;
    const hasKeys = issuer.keys !== undefined && since(issuer.fetchedAt) < keptWithoutIssuerMs;
    if (hasKeys && since(issuer.failedAt) < askAgainMs) return issuer.keys;
    return (await fetchKeys(issuer)) || hasKeys ? issuer.keys : undefined;
  };

  /** Whether there are new keys among which a key may be that was not among the others. */
  const mayHaveNewKey = async (issuer: Issuer): Promise<boolean> => {
    if (!issuer.fetching && since(issuer.askedForKeyAt) < askAgainMs) return false;
    issuer.askedForKeyAt = ctx.clock();
    return fetchKeys(issuer);
  };

  const isSigned = (keys: KeySet, assertion: string) =>
    jwtVerify(assertion, keys, {
      algorithms: assertionAlgorithms,
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(ctx.clock()),
    }).then(
      () => 'valid' as const,
      (error: unknown) =>
        error instanceof errors.JWKSNoMatchingKey ? ('unknown_key' as const) : ('invalid' as const),
    );

  return {
    /** Whether a key of the issuer signed this token and it has not expired; or that no keys of the issuer are known. */
    verify: async (url: string, assertion: string): Promise<'valid' | 'invalid' | 'unavailable'> => {
      const issuer = issuerOf(url);
      const keys = await currentKeys(issuer);
      if (!keys) return 'unavailable';
      const result = await isSigned(keys, assertion);
      if (result !== 'unknown_key') return result;
      const isAnswered = await mayHaveNewKey(issuer);
      return isAnswered && (await isSigned(issuer.keys!, assertion)) === 'valid' ? 'valid' : 'invalid';
    },
  };
}

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });

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
    return createLocalJWKSet((await fetchJson(found.jwks_uri)) as JSONWebKeySet);
  } catch (error) {
    const reason = error instanceof FetchError ? error.message : 'a document is not valid';
    ctx.log.warn({ issuer, reason }, 'the keys of a trusted issuer could not be fetched');
    return undefined;
  }
}
