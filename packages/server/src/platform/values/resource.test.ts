import { expect, test } from 'bun:test';
import { isSameResource } from './scope.ts';

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
