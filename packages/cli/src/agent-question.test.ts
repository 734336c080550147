import { expect, test } from 'bun:test';
import { LatchkeyError } from '@latchkey/client/errors';
import { codeOf } from '#support/client.ts';
import { askOnce } from './agent-question.ts';

/** Asks in a row, of a person who answers like this. Names in `scope` are in order. */
function asking(answerTo: (question: string) => boolean | undefined) {
  const asked: string[] = [];
  let now = 0;
  const isAllowed = askOnce(
    async (question) => {
      asked.push(question);
      return answerTo(question);
    },
    () => now,
  );
  return {
    asked,
    request: (scope: string, resource?: string, requirePossible = async () => {}, forwardedAs?: string) =>
      isAllowed({ scopes: scope.split(' '), resource, forwardedAs, requirePossible }),
    pass: (seconds: number) => {
      now += seconds * 1000;
    },
  };
}

test('a yes is for just that scope and resource, and is asked for once, without waiting for other questions', async () => {
  const { asked, request } = asking(() => true);
  const resource = 'https://tickets.example';
  for (let round = 0; round < 2; round++)
    for (const [scope, at] of [['a'], ['b'], ['a b'], ['a', resource]] as const)
      expect(await request(scope, at)).toBe(true);
  expect(await Promise.race([request('c').then(() => 'asked'), request('a').then(() => 'known')])).toBe(
    'known',
  );
  expect(asked).toEqual([
    'A program wants a.',
    'A program wants b.',
    'A program wants a b.',
    `A program wants a at ${resource}.`,
    'A program wants c.',
  ]);
});

test('a no holds for every scope with one of its names, at every resource', async () => {
  const { asked, request } = asking(() => false);
  for (const scope of ['a b', 'a b', 'a', 'b', 'a b c']) expect(await request(scope)).toBe(false);
  expect(await request('a', 'https://tickets.example')).toBe(false);
  expect(asked).toEqual(['A program wants a b.']);
});

test('a yes to forwarded requests is for one name, and hands out no token; a no is for the scope', async () => {
  const { asked, request } = asking((question) => question.includes('forwarded'));
  const resource = 'https://tickets.example';
  const forward = (name: string) => request('a', resource, undefined, name);
  expect([await forward('x'), await forward('y'), await forward('x'), await request('a', resource)]).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect([await forward('x'), asked.length]).toEqual([false, 3]);
});

test('without an answer the token is refused, and the question is asked again', async () => {
  const { asked, request } = asking(() => undefined);
  expect([await request('a'), await request('a')]).toEqual([false, false]);
  expect(asked).toHaveLength(2);
});

test('nobody is asked more than 6 times a minute, and what was answered needs no question', async () => {
  const { asked, request, pass } = asking(() => true);
  for (const scope of ['a', 'b', 'c', 'd', 'e']) await request(scope);
  pass(30);
  await request('f');
  expect(await codeOf(request('g'))).toBe('rate_limited');
  expect(await request('a')).toBe(true);
  pass(29);
  expect(await codeOf(request('g'))).toBe('rate_limited');
  pass(1);
  for (const scope of ['g', 'h', 'i', 'j', 'k']) expect(await request(scope)).toBe(true);
  expect(await codeOf(request('l'))).toBe('rate_limited');
  expect(asked).toHaveLength(11);
});

test('nobody is asked about what the service refuses, and the next question does not suffer', async () => {
  const { asked, request } = asking(() => true);
  const refuse = () => Promise.reject(new LatchkeyError('invalid_target', 'No service declared it.'));
  const [refused, other] = [request('a', 'https://nobody.example', refuse), request('b')];
  expect(await codeOf(refused)).toBe('invalid_target');
  expect(await other).toBe(true);
  expect(asked).toEqual(['A program wants b.']);
});
