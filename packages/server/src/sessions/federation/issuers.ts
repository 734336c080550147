// The keys of trusted issuers. Each node keeps its own.
// @see OpenID Connect Discovery 1.0 section 4

import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { FetchError, fetchDocument, type Resolve } from '../../platform/outgoing/fetch-document.ts';
import {
  type FetchedKeys,
  keySetDocument,
  openKeySet,
  type VerifySignature,
} from '../../platform/outgoing/key-set.ts';
import { isLoopbackHost } from '../../platform/values/loopback.ts';

const maxDocumentBytes = 512 * 1024;
const documentTimeoutMs = 5_000;

const keptMs = 10 * 60_000;
/** How long the last keys are used while the issuer cannot be reached. */
const keptWithoutIssuerMs = 86_400_000;
/** The shortest time until an issuer is asked again that could not be reached. */
const askAgainMs = 60_000;

export type Issuers = ReturnType<typeof openIssuers>;

/** @param resolve the addresses of a host, for tests */
export function openIssuers(ctx: Context, resolve?: Resolve) {
  const issuers = new Map<string, VerifySignature>();
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
const openIssuer = (ctx: Context, url: string, resolve: Resolve | undefined): VerifySignature =>
  openKeySet(ctx.clock, {
    fetch: () => fetchKeySet(ctx, url, resolve),
    keptWithoutSourceMs: keptWithoutIssuerMs,
    failureKeptMs: askAgainMs,
  });

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });

/** Undefined if the issuer cannot be reached or its documents cannot be used. */
async function fetchKeySet(
  ctx: Context,
  issuer: string,
  resolve: Resolve | undefined,
): Promise<FetchedKeys | undefined> {
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
    return { keys: keySetDocument.parse(await fetchJson(found.jwks_uri)), keptMs };
  } catch (error) {
    const reason = error instanceof FetchError ? error.message : 'a document is not valid';
    ctx.log.warn({ issuer, reason }, 'the keys of a trusted issuer could not be fetched');
    return undefined;
  }
}
