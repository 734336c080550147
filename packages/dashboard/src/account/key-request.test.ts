import '#support/english-pages.ts';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { ScopeList } from '@latchkey/contract/keys';
import {
  emptyRequest,
  newKeyOf,
  problemWith,
  requestedKey,
  sentencesOf,
  unknownScopes,
} from './key-request.ts';

const asked = (query: string) => requestedKey(new URLSearchParams(query));
const known: ScopeList = {
  scopes: [
    { name: 'profile', description: 'In another language', service: null },
    { name: 'openid', description: 'Sign you in', service: null },
    { name: 'tickets:read', description: 'Read your tickets', service: 'Tickets' },
  ],
  resources: [],
};

test('a link without new-key=1 asks for no key', () => {
  for (const query of ['', 'name=a&scope=*', 'new-key=', 'new-key=0', 'new-key=2&scope=*'])
    expect(asked(query)).toBeUndefined();
});

test('a link fills in what it names and leaves the rest to the person', () => {
  expect(asked('new-key=1')).toEqual(emptyRequest);
  expect(
    asked('new-key=1&name=+CI+&scope=profile++tickets:read+profile&resource=https://a.example&expires=3600'),
  ).toEqual({
    name: 'CI',
    scopes: ['profile', 'tickets:read'],
    resource: 'https://a.example',
    expiresInSeconds: 3_600,
  });
  expect(asked('new-key=1&scope=profile+*+identity')?.scopes).toEqual(['*', 'identity']);
  expect(asked(`new-key=1&name=${'n'.repeat(200)}`)?.name).toHaveLength(100);
});

test('a link printed by the command line fills the form with the options of the command', async () => {
  const transcript = join(import.meta.dir, '../../../../tests/cli/transcripts/keys.txt');
  const printed = (await Bun.file(transcript).text()).matchAll(/^> SERVER\/account\?(\S+)$/gm);
  const build = { ...emptyRequest, name: 'night build', scopes: ['profile', 'email'] };
  const trust = { issuer: 'https://ci.example', claims: 'sub=build\nref=refs/heads/main=1' };
  const secretless = { ...emptyRequest, name: 'ci', scopes: ['profile'], expiresInSeconds: 3_600, trust };
  expect([...printed].map(([, query = '']) => asked(query))).toEqual([build, secretless]);
});

test('a key without a secret has an issuer, and claims that are clear', () => {
  const named = { ...emptyRequest, name: 'CI', scopes: ['profile'] };
  const linked = asked('new-key=1&issuer=https://ci.example&claim=sub%3Drepo%3Aa&claim=ref%3Da%3Db');
  expect(linked?.trust).toEqual({ issuer: 'https://ci.example', claims: 'sub=repo:a\nref=a=b' });
  expect(newKeyOf({ ...named, trust: linked?.trust }).trust).toEqual({
    issuer: 'https://ci.example',
    claims: { sub: 'repo:a', ref: 'a=b' },
  });
  const problem = (issuer: string, claims: string) =>
    problemWith({ ...named, trust: { issuer, claims } }, known);
  const field = (issuer: string, claims: string) => problem(issuer, claims)?.[0];
  expect(problem('https://ci.example', '\n sub=a \n\n')).toBeUndefined();
  expect(problem(' https://ci.example ', 'ref=a')?.[1]).toContain('sub');
  for (const claims of ['', 'sub', 'sub=', '=a', 'sub=a\nsub=b', 'sub=a\nref'])
    expect([claims, field('https://ci.example', claims)]).toEqual([claims, 'claims']);
  expect(field(' ', 'sub=a')).toBe('issuer');
});

test('a lifetime that no key can have becomes 30 days', () => {
  for (const expires of ['', '3599', '31536001', '3600.5', 'soon', '-1', '1e9'])
    expect([expires, asked(`new-key=1&expires=${expires}`)?.expiresInSeconds]).toEqual([expires, 2_592_000]);
});

test('an unknown scope is neither left out nor sent', () => {
  const scopes = ['profile', 'tickets:write'];
  expect(unknownScopes(scopes, known)).toEqual(['tickets:write']);
  expect(unknownScopes(['*'], known)).toEqual([]);
  expect(problemWith({ ...emptyRequest, name: 'CI', scopes }, known)?.[0]).toBe('scope');
  expect(problemWith({ ...emptyRequest, name: 'CI', scopes: ['profile'] }, known)).toBeUndefined();
});

test('what is sent is what the form shows', () => {
  const request = { ...emptyRequest, name: ' CI ', scopes: ['profile', 'tickets:read'] };
  expect(newKeyOf(request)).toEqual({ name: 'CI', scope: 'profile tickets:read', expires_in: 2_592_000 });
  const everywhere = { ...request, scopes: ['identity', 'profile', '*'], resource: 'https://a.example' };
  expect(newKeyOf(everywhere)).toEqual({
    name: 'CI',
    scope: '* identity',
    resource: 'https://a.example',
    expires_in: 2_592_000,
  });
});

test('a scope is described by its sentence and service, or by its name once it is no longer declared', () => {
  expect(sentencesOf('* openid', known)).toEqual(['Do everything you can do']);
  expect(sentencesOf('profile tickets:read old:read openid', known)).toEqual([
    'See your name, picture, language and time zone',
    'Read your tickets (Tickets)',
    'old:read',
  ]);
  expect(sentencesOf('openid', known)).toEqual([]);
});
