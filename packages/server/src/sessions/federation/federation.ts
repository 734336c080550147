// Programs that show a token of an issuer instead of a secret.

import { githubIssuer } from '@latchkey/contract/key-trust';
import type { KeyTrust } from '@latchkey/contract/keys';
import type { IssuedToken } from '@latchkey/contract/tokens';
import type { Context } from '../../platform/context.ts';
import { AuthError, type ErrorDetail, invalidGrant } from '../../platform/errors.ts';
import { assertionError, readClaims } from '../../platform/values/assertion.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { recordRefusedKey } from '../keys/keys.ts';
import { exchangeToken, type RequestedRun } from '../runs/runs.ts';
import { findTrustingKey, type RunSubject } from '../runs/subject.ts';
import type { Issuers } from './issuers.ts';

/** The longest time for which an issuer may issue a token. */
const maxLifetimeSeconds = 86_400;

/**
 * The key that trusts the claims of an issuer's token, which is to stand for it. The caller learns nothing about what is wrong with token, key or issuer; the
 * log does. The owner of the key learns which claim did not match, if the issuer signed it.
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
 * @throws {AuthError} `invalid_grant` if the key ends meanwhile; what `exchangeToken` throws
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
export function untrustedClaim(
  { issuer, claims }: KeyTrust,
  token: Readonly<Record<string, unknown>>,
): string | undefined {
  const different = Object.entries(claims).find(([name, value]) => token[name] !== value);
  if (different) return different[0];
  if (issuer !== githubIssuer || Object.hasOwn(claims, 'event_name')) return undefined;
  const event = token['event_name'];
  // Without a readable event, the job may be one that a stranger caused.
  return typeof event !== 'string' || privilegedEvents.includes(event) ? 'event_name' : undefined;
}
