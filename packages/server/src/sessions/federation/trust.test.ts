import { expect, test } from 'bun:test';
import { githubClaims } from '#support/issuer.ts';
import { untrustedClaim } from './federation.ts';

const github = 'https://token.actions.githubusercontent.com';
const ids = { repository_id: '784120233', repository_owner_id: '1099001' };
const sub = 'repo:ada@1099001/engine@784120233:ref:refs/heads/main';
const main = { ...ids, ref: 'refs/heads/main' };

const ofGithub = (changed: Record<string, unknown>, claims: Record<string, string> = main) =>
  untrustedClaim({ issuer: github, claims }, githubClaims('x', changed));
const elsewhere = (changed: Record<string, unknown>) =>
  untrustedClaim({ issuer: 'https://ci.example', claims: { sub, ...ids } }, githubClaims('x', changed));

test('jobs on GitHub are distinguished by ids, whatever form their subject has', () => {
  for (const newSubject of [true, false])
    expect(
      untrustedClaim({ issuer: github, claims: main }, githubClaims('x', {}, newSubject)),
    ).toBeUndefined();
  expect(ofGithub({ repository: 'lovelace/engine', repository_owner: 'lovelace' })).toBeUndefined();
});

test.each<[string, typeof elsewhere, Record<string, unknown>, string]>([
  ['a fork', ofGithub, { repository_id: '2', repository_owner_id: '3' }, 'repository_id'],
  ['another repository of the owner', ofGithub, { repository_id: '2' }, 'repository_id'],
  ['a repository that someone else took over', ofGithub, { repository_owner_id: '3' }, 'repository_owner_id'],
  ['another branch', ofGithub, { ref: 'refs/heads/evil' }, 'ref'],
  ['a tag of that name', ofGithub, { ref: 'refs/tags/main' }, 'ref'],
  ['a pull request', ofGithub, { ref: 'refs/pull/7/merge', event_name: 'pull_request' }, 'ref'],
  ['a subject in another case', elsewhere, { sub: sub.replace('ada', 'Ada') }, 'sub'],
  ['a subject without ids', elsewhere, { sub: 'repo:ada/engine:ref:refs/heads/main' }, 'sub'],
  ['a longer value', elsewhere, { repository_id: `${ids.repository_id}0` }, 'repository_id'],
  ['a number for text', elsewhere, { repository_id: 784_120_233 }, 'repository_id'],
  ['a list for text', elsewhere, { repository_id: [ids.repository_id] }, 'repository_id'],
  ['a missing claim', elsewhere, { repository_owner_id: undefined }, 'repository_owner_id'],
])('%s is not trusted', (_, untrusted, changed, claim) => {
  expect(untrusted({})).toBeUndefined();
  expect(untrusted(changed)).toBe(claim);
});

test.each(['pull_request_target', 'workflow_run'])(
  'jobs on GitHub caused by %s are trusted only where it is named, and those of other issuers anywhere',
  (event_name) => {
    const naming = { ...main, event_name };
    expect([ofGithub({ event_name }), ofGithub({ event_name }, naming)]).toEqual(['event_name', undefined]);
    expect(ofGithub({ event_name: 'push' }, naming)).toBe('event_name');
    expect(elsewhere({ event_name })).toBeUndefined();
  },
);

test.each([[['pull_request_target']], [[['workflow_run']]], [{ name: 'push' }], [1], [null], [undefined]])(
  'a job on GitHub with the event %p is trusted nowhere',
  (event_name) => {
    for (const claims of [main, { ...main, event_name: 'pull_request_target' }])
      expect(ofGithub({ event_name }, claims)).toBe('event_name');
  },
);

test('a claim that objects inherit is not one of the token', () => {
  const claims = { sub: 'x', constructor: 'y' };
  expect(untrustedClaim({ issuer: 'https://ci.example', claims }, { sub: 'x' })).toBe('constructor');
});
