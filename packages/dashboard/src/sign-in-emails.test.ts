import { expect, test } from 'bun:test';
import { parseSignIn } from './sign-in-emails.ts';

const origin = 'https://login.example';

test('a stored sign-in is ignored when it has expired or is malformed, and never leads to another site', () => {
  const pending = {
    email: 'ada@example.com',
    until: 2000,
    next: '/device?user_code=BCDF-GHJK',
    request: 'lk_mr_x',
  };
  expect(parseSignIn(JSON.stringify(pending), origin, 1999)).toEqual(pending);
  expect(parseSignIn(JSON.stringify(pending), origin, 2000)).toBeUndefined();
  expect(parseSignIn(JSON.stringify({ ...pending, next: '//evil.example' }), origin, 0)?.next).toBe(
    '/account',
  );
  for (const stored of [null, 'null', '7', '{}', '{', '{"email":"a@b.c"}', '{"email":1,"until":9e9}'])
    expect(parseSignIn(stored, origin, 1000)).toBeUndefined();
  for (const request of [undefined, null, '', 7])
    expect(parseSignIn(JSON.stringify({ ...pending, request }), origin, 0)?.request).toBe('');
});
