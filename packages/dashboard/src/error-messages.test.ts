import { expect, test } from 'bun:test';
import { explain } from './error-messages.ts';
import { parsePendingSignIn, parseSentEmail } from './sign-in-emails.ts';

test('a refusal that names a time says when to try again', () => {
  const now = new Date('2026-01-02T03:04:05Z');
  expect(explain({ code: 'rate_limited', retryAfterSeconds: 42 }, {}, now)).toBe(
    'Too many tries. Try again in 42 seconds.',
  );
  expect(explain({ code: 'rate_limited', retryAfterSeconds: 1 }, {}, now)).toContain('in 1 second.');
  expect(explain({ code: 'rate_limited', retryAfterSeconds: 61 }, {}, now)).toContain('in 2 minutes, at ');
  expect(explain({ code: 'invalid_grant' }, { invalid_grant: 'Wrong code.' }, now)).toBe('Wrong code.');
  expect(explain({ code: 'server_error' }, {}, now)).toContain('our side');
});

test('a marker that is stale, foreign or leads elsewhere is not believed', () => {
  const origin = 'https://login.example';
  const marker = { email: 'ada@example.com', until: 2000, next: '/device?user_code=BCDF-GHJK' };
  expect(parseSentEmail(JSON.stringify(marker), origin, 1000)).toEqual(marker);
  expect(parseSentEmail(JSON.stringify(marker), origin, 2000)).toBeUndefined();
  expect(parseSentEmail(JSON.stringify({ ...marker, next: '//evil.example' }), origin, 1000)?.next).toBe(
    '/account',
  );
  for (const stored of [null, 'null', '7', '{}', '{"email":"a@b.c"}', '{"email":1,"until":9e9}']) {
    expect(parseSentEmail(stored, origin, 1000)).toBeUndefined();
  }
});

test('a tab waits for a code only with a whole entry of its own storage that has not expired', () => {
  const origin = 'https://login.example';
  const waiting = { email: 'ada@example.com', until: 2000, next: '/device', request: 'lk_mr_x' };
  expect(parsePendingSignIn(JSON.stringify(waiting), origin, 1999)).toEqual(waiting);
  expect(parsePendingSignIn(JSON.stringify(waiting), origin, 2000)).toBeUndefined();
  expect(parsePendingSignIn(JSON.stringify({ ...waiting, next: '//evil.example' }), origin, 0)?.next).toBe(
    '/account',
  );
  for (const request of [undefined, null, '', 7])
    expect(parsePendingSignIn(JSON.stringify({ ...waiting, request }), origin, 0)).toBeUndefined();
  expect(parsePendingSignIn(null, origin, 0)).toBeUndefined();
});
