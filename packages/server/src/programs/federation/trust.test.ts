import { describe, expect, test } from 'bun:test';
import { githubClaims } from '../../../../../tests/support/issuer.ts';
import { trustError, untrustedClaim } from './trust.ts';

const github = 'https://token.actions.githubusercontent.com';
const gitlab = 'https://gitlab.com';
const ids = { repository_id: '784120233', repository_owner_id: '1099001' };

describe('claims that a key must name', () => {
  test.each<[string, Record<string, string>, string | undefined]>([
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
  ])('%s %p', (issuer, claims, error) => {
    expect(trustError({ issuer, claims })).toBe(error);
  });
});

describe('jobs on GitHub', () => {
  const trust = { issuer: github, claims: { ...ids, ref: 'refs/heads/main' } };
  const untrusted = (changed: Record<string, unknown>, more: Record<string, string> = {}) =>
    untrustedClaim({ issuer: github, claims: { ...trust.claims, ...more } }, githubClaims('x', changed));

  test('are distinguished by ids, whatever form their subject has', () => {
    for (const newSubject of [true, false])
      expect(untrustedClaim(trust, githubClaims('x', {}, newSubject))).toBeUndefined();
    expect(untrusted({ repository: 'lovelace/engine', repository_owner: 'lovelace' })).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['a fork', { repository_id: '2', repository_owner_id: '3' }, 'repository_id'],
    ['another repository of the owner', { repository_id: '2' }, 'repository_id'],
    ['a repository that someone else took over', { repository_owner_id: '3' }, 'repository_owner_id'],
    ['another branch', { ref: 'refs/heads/evil' }, 'ref'],
    ['a tag of that name', { ref: 'refs/tags/main' }, 'ref'],
    ['a pull request', { ref: 'refs/pull/7/merge', event_name: 'pull_request' }, 'ref'],
  ])('%s is not trusted', (_, changed, claim) => {
    expect(untrusted(changed)).toBe(claim);
  });

  test.each(['pull_request_target', 'workflow_run'])(
    'caused by %s are trusted only where it is named',
    (event_name) => {
      expect(untrusted({ event_name })).toBe('event_name');
      expect(untrusted({ event_name }, { event_name })).toBeUndefined();
      expect(untrusted({ event_name: 'push' }, { event_name })).toBe('event_name');
      expect(untrusted({ event_name: 'push' })).toBeUndefined();
      const elsewhere = { issuer: 'https://ci.example', claims: { sub: 'x' } };
      expect(untrustedClaim(elsewhere, { sub: 'x', event_name })).toBeUndefined();
    },
  );
});

test.each([[['pull_request_target']], [[['workflow_run']]], [{ name: 'push' }], [1], [null], [undefined]])(
  'a job on GitHub with the event %p is trusted nowhere',
  (event_name) => {
    const claims = { ...ids, ref: 'refs/heads/main' };
    const token = githubClaims('x', { event_name });
    expect(untrustedClaim({ issuer: github, claims }, token)).toBe('event_name');
    const naming = { ...claims, event_name: 'pull_request_target' };
    expect(untrustedClaim({ issuer: github, claims: naming }, token)).toBe('event_name');
  },
);

test('a claim that objects inherit is not one of the token', () => {
  const claims = { sub: 'x', constructor: 'y' };
  expect(untrustedClaim({ issuer: 'https://ci.example', claims }, { sub: 'x' })).toBe('constructor');
});
