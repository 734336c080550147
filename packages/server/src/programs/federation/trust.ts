// Which tokens of an issuer a key may trust: pure functions.

import { fieldLimits } from '@latchkey/contract/field-limits';
import type { KeyTrust } from '@latchkey/contract/keys';

interface RequiredClaims {
  readonly all: readonly string[];
  readonly oneOf: readonly string[];
}

const githubIssuer = 'https://token.actions.githubusercontent.com';

/**
 * What identifies a job. Ids, because a name can be given up and taken by someone else. Without the branch, environment or
 * workflow, every job of a repository could use the key, also one that a contributor starts.
 */
const requiredClaims: Readonly<Record<string, RequiredClaims>> = {
  [githubIssuer]: {
    all: ['repository_id', 'repository_owner_id'],
    oneOf: ['environment', 'ref', 'job_workflow_ref'],
  },
  'https://gitlab.com': { all: ['project_id', 'namespace_id'], oneOf: ['ref', 'environment'] },
};

const requiredElsewhere: RequiredClaims = { all: ['sub'], oneOf: [] };

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
  const { all, oneOf } = requiredClaims[issuer] ?? requiredElsewhere;
  const missing = all.find((name) => !names.includes(name));
  if (missing !== undefined) return `must have ${missing}`;
  if (oneOf.length > 0 && !oneOf.some((name) => names.includes(name)))
    return `must have one of ${oneOf.join(', ')}`;
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
