import { describe, expect, test } from 'bun:test';
import { githubClaims } from '../../../../../tests/support/issuer.ts';
import { untrustedClaim } from './federation.ts';

const github = 'https://token.actions.githubusercontent.com';
const ids = { repository_id: '784120233', repository_owner_id: '1099001' };

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
