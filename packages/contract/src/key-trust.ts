// Which claims a key must name for an issuer. Page and command line say so before they ask the service for such a key.

import { fieldLimits } from './field-limits.ts';
import type { KeyTrust } from './keys.ts';

interface RequiredClaims {
  readonly all: readonly string[];
  readonly oneOf: readonly string[];
}

export const githubIssuer = 'https://token.actions.githubusercontent.com';

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

/** The claims of which one more must be named to identify a job of this issuer. Empty if none. */
export function missingClaims(issuer: string, named: readonly string[]): readonly string[] {
  const { all, oneOf } = requiredClaims[issuer] ?? requiredElsewhere;
  const missing = all.find((name) => !named.includes(name));
  if (missing !== undefined) return [missing];
  return oneOf.some((name) => named.includes(name)) ? [] : oneOf;
}

/** Claims that every token has, and that are checked anyway. */
const registeredClaims: ReadonlySet<string> = new Set(['iss', 'aud', 'exp', 'nbf', 'iat']);

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
