import { expect, test } from 'bun:test';
import { includesAny, isSameResource, isSameScope, isWithin, joinScope, parseScope } from './scope-names.ts';

test('a scope is 1 to 20 well-formed names separated by single spaces', () => {
  expect(parseScope('profile email')).toEqual(['profile', 'email']);
  expect(parseScope('profile profile')).toEqual(['profile']);
  expect(parseScope(`a${'b'.repeat(63)} x.y:z-0_1`)).toHaveLength(2);
  expect(parseScope(Array.from({ length: 20 }, (_, n) => `s${n}`).join(' '))).toHaveLength(20);
  const malformed = ['', ' ', 'a ', ' a', 'a  b', 'A', '1a', 'a"b', 'a\tb', 'ä', '**', `a${'b'.repeat(64)}`];
  malformed.push(Array.from({ length: 21 }, (_, n) => `s${n}`).join(' '));
  for (const scope of malformed) expect([scope, parseScope(scope)]).toEqual([scope, undefined]);
});

test('a scope that includes everything is everything, beside what everything does not include', () => {
  expect(joinScope(['*'])).toBe('*');
  expect(joinScope(['profile', '*'])).toBe('*');
  expect(joinScope(['identity', 'profile', '*', 'openid'])).toBe('* openid identity');
  expect(joinScope(['profile', 'email'])).toBe('profile email');
});

test('everything includes every name but those of an identity, and is within nothing but everything', () => {
  expect(includesAny('*', ['profile'])).toBe(true);
  expect(includesAny('email', ['profile', 'email'])).toBe(true);
  expect(includesAny('email', ['*'])).toBe(false);
  expect(isWithin('profile', '*')).toBe(true);
  expect(isWithin('*', 'profile')).toBe(false);
  for (const name of ['openid', 'identity']) {
    expect(isWithin(`profile ${name}`, '*')).toBe(false);
    expect(isWithin(`profile ${name}`, `* ${name}`)).toBe(true);
    expect(includesAny('*', [name])).toBe(false);
  }
  expect(isWithin('email profile', 'profile email x')).toBe(true);
  expect(isWithin('email y', 'profile email x')).toBe(false);
  expect(isSameScope('a b', 'b a')).toBe(true);
  expect(isSameScope('a b', 'a')).toBe(false);
  expect(isSameScope('*', 'a')).toBe(false);
  expect(isSameScope('*', '* openid')).toBe(false);
});

test.each([
  ['https://a.example', 'https://a.example/', true],
  ['https://a.example/', 'https://a.example', true],
  ['https://a.example:8443', 'https://a.example:8443/', true],
  ['https://a.example/b', 'https://a.example/b/', false],
  ['https://a.example?b', 'https://a.example/?b', false],
  ['https://a.example', 'https://a.example//', false],
  ['https://a.example', 'https://b.example/', false],
  ['urn:a', 'urn:a/', false],
])('%s and %s: %p', (one, other, same) => {
  expect(isSameResource(one, other)).toBe(same);
});
