import { describe, expect, test } from 'bun:test';
import { trustError } from './key-trust.ts';

const github = 'https://token.actions.githubusercontent.com';
const gitlab = 'https://gitlab.com';
const ids = { repository_id: '784120233', repository_owner_id: '1099001' };

const claimsBesideSub = (count: number): Record<string, string> =>
  Object.fromEntries([['sub', 'x'], ...Array.from({ length: count }, (_, n) => [`c${n}`, 'x'])]);

describe('claims that a key must name', () => {
  test.each<readonly [string, Record<string, string>, string | undefined]>([
    [github, { ...ids, ref: 'refs/heads/main' }, undefined],
    [github, { ...ids, environment: 'production' }, undefined],
    [github, { ...ids, job_workflow_ref: 'ada/engine/.github/workflows/a.yml@refs/heads/main' }, undefined],
    [github, ids, 'must have one of environment, ref, job_workflow_ref'],
    [github, { repository_owner_id: '1', sub: 'repo:ada/engine' }, 'must have repository_id'],
    [github, { repository_id: '1', ref: 'x' }, 'must have repository_owner_id'],
    [gitlab, { project_id: '1', namespace_id: '2', ref: 'main' }, undefined],
    [gitlab, { project_id: '1', namespace_id: '2', environment: 'production' }, undefined],
    [gitlab, { project_id: '1', namespace_id: '2' }, 'must have one of ref, environment'],
    [gitlab, { project_id: '1', ref: 'main' }, 'must have namespace_id'],
    [gitlab, { namespace_id: '1', ref: 'main' }, 'must have project_id'],
    ['https://cluster.example', { sub: 'system:serviceaccount:build:default' }, undefined],
    ['https://cluster.example', { ...ids, ref: 'x' }, 'must have sub'],
    ['https://cluster.example', {}, 'must have sub'],
    ...['iss', 'aud', 'exp', 'nbf', 'iat'].map(
      (name) =>
        [
          github,
          { ...ids, ref: 'x', [name]: 'x' },
          `must not have ${name}, which is checked anyway`,
        ] as const,
    ),
    ['https://cluster.example', claimsBesideSub(19), undefined],
    ['https://cluster.example', claimsBesideSub(20), 'must have at most 20 claims'],
  ])('%s %p', (issuer, claims, error) => {
    expect(trustError({ issuer, claims })).toBe(error);
  });
});
