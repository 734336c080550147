import { describe, expect, test } from 'bun:test';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { emptyRegistration, type Registration, requireClient, requireValid } from './registration.ts';

const scope = (name: string, sentence = 'Read') => ({ scopes: [{ name, sentence }] });

describe('what an operator registers about a service', () => {
  const good: Partial<Registration>[] = [
    {},
    { resource: null, scopes: [], rights: [], reach: [] },
    { resource: 'https://api.example/v1?tenant=1' },
    { resource: 'urn:example:projects' },
    { resource: 'http://localhost:3000' },
    { resource: `https://x.example/${'x'.repeat(fieldLimits.resource - 18)}` },
    scope('projects:read', 'See your “projects” = all of them'),
    scope(`a${'z'.repeat(63)}`),
    scope('a'),
    scope('a_1.b:c-d'),
    scope('openid2'),
    scope('read', 'x'.repeat(fieldLimits.scopeSentence)),
    { rights: ['delegate', 'feed', 'organizations', 'users'] },
    { reach: ['https://other.example', 'urn:other'] },
    {
      scopes: Array.from({ length: fieldLimits.serviceScopes }, (_, n) => ({ name: `s${n}`, sentence: 'x' })),
    },
  ];
  for (const registration of good)
    test(`${JSON.stringify(registration).slice(0, 80)} is accepted`, () => {
      expect(() => requireValid(registration)).not.toThrow();
    });

  const bad: readonly (readonly [Partial<Registration>, string])[] = [
    ...['projects', '/projects', 'https://x.example#', 'https://x.example/#part', 'https://', 'a b:c'].map(
      (resource) => [{ resource }, 'resource: must be an absolute URI'] as const,
    ),
    [{ resource: 'https://x.example/two words' }, 'resource: must be'],
    [{ resource: 'https://x.example/ä' }, 'resource: must be'],
    [{ resource: 'https://x.example/%zz' }, 'resource: must be'],
    [{ resource: `https://x.example/${'x'.repeat(fieldLimits.resource - 17)}` }, 'resource: must be'],
    [{ reach: ['https://ok.example', 'nothing'] }, 'reach: must be an absolute URI'],
    [
      { reach: Array.from({ length: 101 }, (_, n) => `https://x.example/${n}`) },
      'reach: a service can reach',
    ],
    ...['', 'Projects', '1st', 'a b', `a${'z'.repeat(64)}`, 'ä', ':read'].map(
      (name) => [scope(name), 'scope: a name is'] as const,
    ),
    ...['profile', 'email', 'organizations', 'openid', 'offline_access'].map(
      (name) => [scope(name), `${name} is a scope of Latchkey itself`] as const,
    ),
    [scope('*'), 'scope: a name is'],
    ...['', ' ', 'two\nlines', 'x'.repeat(fieldLimits.scopeSentence + 1)].map(
      (sentence) => [scope('read', sentence), 'the sentence of read must be'] as const,
    ),
    [{ scopes: [...scope('read').scopes, ...scope('read', 'Other').scopes] }, 'read appears twice'],
    [
      { scopes: Array.from({ length: 101 }, (_, n) => ({ name: `s${n}`, sentence: 'x' })) },
      'at most 100 scopes',
    ],
    [{ rights: ['root' as 'feed'] }, 'there is no right root'],
  ];
  for (const [registration, sentence] of bad)
    test(`${JSON.stringify(registration).slice(0, 80)} is refused: ${sentence}`, () => {
      expect(() => requireValid(registration)).toThrow(sentence);
    });
});

describe('what an OAuth client may be', () => {
  const redirectUris = ['https://app.example/callback'];
  const local = ['http://127.0.0.1/callback'];
  const client = (changed: Partial<Registration>) => ({ ...emptyRegistration, redirectUris, ...changed });

  test.each<[Partial<Registration>, isDevelopment: boolean, isGood: boolean]>([
    [{}, false, true],
    [{ isTrusted: true }, false, true],
    [{ redirectUris: local, isPublic: true }, false, true],
    [{ redirectUris: local, isTrusted: true }, true, true],
    [{ redirectUris: [] }, false, true],
    [{ isPublic: true, isTrusted: true }, false, false],
    [{ isPublic: true, redirectUris: [] }, false, false],
    [{ isTrusted: true, redirectUris: [] }, false, false],
    [{ isTrusted: true, redirectUris: local }, false, false],
    [{ isTrusted: true, redirectUris: [...redirectUris, 'https://localhost/cb'] }, false, false],
  ])('%j, in development: %p, is accepted: %p', (changed, isDevelopment, isGood) => {
    const required = expect(() => requireClient(client(changed), isDevelopment));
    if (isGood) required.not.toThrow();
    else required.toThrow();
  });

  test('the error names the spelling that a redirect URI needs', () => {
    expect(() => requireValid({ redirectUris: ['https://App.example'] })).toThrow(
      'Write https://app.example/',
    );
    expect(() => requireValid({ signOutRedirectUris: ['http://app.example/'] })).toThrow(
      'sign-out-redirect:',
    );
  });
});
