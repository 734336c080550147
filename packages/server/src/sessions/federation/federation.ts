// Programs that show a token of an issuer instead of a secret.

import { githubIssuer } from '@latchkey/contract/key-trust';
import type { KeyTrust } from '@latchkey/contract/keys';
import type { IssuedToken } from '@latchkey/contract/tokens';
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { AuthError, type ErrorDetail, invalidGrant } from '../../platform/errors.ts';
import { FetchError, fetchDocument, type Resolve } from '../../platform/outgoing/fetch-document.ts';
import { keySetDocument, openKeySet, type VerifySignature } from '../../platform/outgoing/key-set.ts';
import { assertionError, readClaims } from '../../platform/values/assertion.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { isLoopbackHost } from '../../platform/values/loopback.ts';
import { recordRefusedKey } from '../keys/keys.ts';
import { exchangeToken, findTrustingKey, type RequestedRun, type RunSubject } from '../runs/runs.ts';

/** The longest time for which an issuer may issue a token. */
const maxLifetimeSeconds = 86_400;

/**
 * The key that trusts the claims of an issuer's token, which then stands for it. The caller does not learn
 * what is wrong; the log does, and the owner learns which claim did not match.
 * @throws {AuthError} `invalid_grant`
 * @see RFC 7523 section 3
 */
export async function redeemAssertion(
  ctx: Context,
  issuers: Issuers,
  { assertion, keyId }: { readonly assertion: string; readonly keyId: string },
  client: ClientInfo,
): Promise<RunSubject> {
  const key = await findTrustingKey(ctx, keyId);
  if (!key) throw refused('unknown');
  const { subject, trust } = key;
  const { issuer } = trust;
  const refuse = (reason: ErrorDetail, claim?: string): AuthError => {
    ctx.log.info({ key: keyId, issuer, reason, claim }, 'a token of an issuer was refused');
    return refused(reason);
  };
  if (!ctx.config.trustedIssuers.includes(issuer)) throw refuse('issuer');
  const claims = readClaims(assertion);
  if (!claims) throw refuse('malformed');
  if (claims['iss'] !== issuer) throw refuse('issuer', 'iss');
  // Before the other claims, so that only tokens of the issuer reach the log of the owner.
  const verified = await issuers.verify(issuer, assertion);
  if (verified !== 'valid') throw refuse(verified === 'invalid' ? 'signature' : 'issuer_unavailable');
  const expected = { audiences: [ctx.config.baseUrl], now: ctx.clock(), maxLifetimeSeconds };
  const untrusted = untrustedClaim(trust, claims);
  const error =
    assertionError(claims, expected) ??
    (untrusted === undefined ? undefined : { reason: 'claim', claim: untrusted });
  if (error) {
    await recordRefusedKey(ctx, subject.session, { issuer, claim: error.claim }, client);
    throw refuse(error.reason, error.claim);
  }
  const { sub } = claims;
  return { ...subject, assertion: { issuer, subject: typeof sub === 'string' ? sub : undefined } };
}

const refused = invalidGrant('The assertion, the key or the issuer is not valid.');

/**
 * Makes a run within the key that trusts an issuer's token.
 * @throws {AuthError} `invalid_grant` if the key ends meanwhile, and the errors of `exchangeToken`
 */
export const startFederatedRun = (
  ctx: Context,
  subject: RunSubject,
  requested: Omit<RequestedRun, 'service'>,
  client: ClientInfo,
): Promise<IssuedToken> =>
  exchangeToken(ctx, subject, { ...requested, service: undefined }, client).catch((error) => {
    throw error instanceof AuthError && error.detail === 'ended' ? refused('ended') : error;
  });

/** GitHub runs these with the rights of the repository, although a stranger can cause them. */
const privilegedEvents: readonly string[] = ['pull_request_target', 'workflow_run'];

/** The name of a claim for which a key does not trust a token; undefined if it trusts the token. */
export function untrustedClaim({ issuer, claims }: KeyTrust, token: Readonly<Record<string, unknown>>) {
  const different = Object.entries(claims).find(([name, value]) => token[name] !== value);
  if (different) return different[0];
  if (issuer !== githubIssuer || Object.hasOwn(claims, 'event_name')) return undefined;
  const event = token['event_name'];
  // Without a readable event, the job may be one that a stranger caused.
  return typeof event !== 'string' || privilegedEvents.includes(event) ? 'event_name' : undefined;
}

// The keys of trusted issuers. Each node keeps its own.
// @see OpenID Connect Discovery 1.0 section 4

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
      const verify =
        issuers.get(url) ??
        openKeySet(ctx.clock, {
          fetch: () => fetchKeySet(ctx, url, resolve),
          keptWithoutSourceMs: keptWithoutIssuerMs,
          failureKeptMs: askAgainMs,
        });
      issuers.set(url, verify);
      return verify(assertion);
    },
  };
}

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });

/** Undefined if the issuer cannot be reached or its documents cannot be used. */
async function fetchKeySet(ctx: Context, issuer: string, resolve: Resolve | undefined) {
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
