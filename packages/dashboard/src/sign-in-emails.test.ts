import { expect, test } from 'bun:test';
import { parseSignIns } from './sign-in-emails.ts';

const origin = 'https://login.example';

test('a stored sign-in is ignored when it has expired or is malformed, and never leads to another site', () => {
  const pending = {
    email: 'ada@example.com',
    until: 2000,
    next: '/device?user_code=BCDF-GHJK',
    request: 'lk_mr_x',
    link: 'x',
  };
  const parsed = (changed: object, now = 0) =>
    parseSignIns(JSON.stringify([{ ...pending, ...changed }]), origin, now);
  expect(parsed({}, 1999)).toEqual([pending]);
  expect(parsed({}, 2000)).toEqual([]);
  expect(parsed({ next: '//evil.example' })[0]?.next).toBe('/account');
  for (const stored of [
    null,
    'null',
    '7',
    '{}',
    '{',
    '[null]',
    '[{"email":"a@b.c"}]',
    '[{"email":1,"until":9e9}]',
  ])
    expect(parseSignIns(stored, origin, 1000)).toEqual([]);
  for (const missing of [undefined, null, '', 7])
    expect(parsed({ request: missing, link: missing })).toEqual([{ ...pending, request: '', link: '' }]);
});
