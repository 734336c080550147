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

/**
 * The claims of which a key without a secret must name one more, so that they identify a job of this issuer. Empty if they do.
 */
export function missingClaims(issuer: string, named: readonly string[]): readonly string[] {
  const { all, oneOf } = requiredClaims[issuer] ?? requiredElsewhere;
  const missing = all.find((name) => !named.includes(name));
  if (missing !== undefined) return [missing];
  return oneOf.some((name) => named.includes(name)) ? [] : oneOf;
}
