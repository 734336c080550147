// Which tokens of an issuer a key may trust: pure functions.

import { fieldLimits } from '@latchkey/contract/field-limits';
import { githubIssuer, missingClaims } from '@latchkey/contract/key-trust';
import type { KeyTrust } from '@latchkey/contract/keys';

/** Claims that every token has, and that are checked anyway. */
const registeredClaims: ReadonlySet<string> = new Set(['iss', 'aud', 'exp', 'nbf', 'iat']);

/** GitHub runs these with the rights of the repository, although a stranger can cause them. */
const privilegedEvents: readonly string[] = ['pull_request_target', 'workflow_run'];

/** Why a key cannot trust these claims; undefined if it can. To be read after the name of the field. */
export function trustError({ issuer, claims }: KeyTrust): string | undefined {
  const names = Object.keys(claims);
  if (names.length > fieldLimits.trustClaims) return `must have at most ${fieldLimits.trustClaims} claims`;
  const registered = names.find((name) => registeredClaims.has(name));
  if (registered !== undefined) return `must not have ${registered}, which is checked anyway`;
  const missing = missingClaims(issuer, names);
  if (missing.length > 0) return `must have ${missing.length > 1 ? 'one of ' : ''}${missing.join(', ')}`;
  return undefined;
}

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
