// Which tokens of an issuer a key trusts: a pure function.

import { githubIssuer } from '@latchkey/contract/key-trust';
import type { KeyTrust } from '@latchkey/contract/keys';

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
