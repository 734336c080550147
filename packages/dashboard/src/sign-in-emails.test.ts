import { expect, test } from 'bun:test';
import { parsePendingSignIn, parseSentEmail } from './sign-in-emails.ts';

const origin = 'https://login.example';

test('a stored email request is ignored when it has expired or is malformed, and never leads to another site', () => {
  const sent = { email: 'ada@example.com', until: 2000, next: '/device?user_code=BCDF-GHJK' };
  expect(parseSentEmail(JSON.stringify(sent), origin, 1000)).toEqual(sent);
  expect(parseSentEmail(JSON.stringify(sent), origin, 2000)).toBeUndefined();
  expect(parseSentEmail(JSON.stringify({ ...sent, next: '//evil.example' }), origin, 1000)?.next).toBe(
    '/account',
  );
  for (const stored of [null, 'null', '7', '{}', '{"email":"a@b.c"}', '{"email":1,"until":9e9}']) {
    expect(parseSentEmail(stored, origin, 1000)).toBeUndefined();
  }
});

test('a tab only waits for a code with a complete, unexpired entry in its own storage', () => {
  const pending = { email: 'ada@example.com', until: 2000, next: '/device', request: 'lk_mr_x' };
  expect(parsePendingSignIn(JSON.stringify(pending), origin, 1999)).toEqual(pending);
  expect(parsePendingSignIn(JSON.stringify(pending), origin, 2000)).toBeUndefined();
  expect(parsePendingSignIn(JSON.stringify({ ...pending, next: '//evil.example' }), origin, 0)?.next).toBe(
    '/account',
  );
  for (const request of [undefined, null, '', 7])
    expect(parsePendingSignIn(JSON.stringify({ ...pending, request }), origin, 0)).toBeUndefined();
  expect(parsePendingSignIn(null, origin, 0)).toBeUndefined();
});
