import { expect, test } from 'bun:test';
import { home, isSwitchingAccount, loginPath, safeNext, switchAccountPath } from './next.ts';

const origin = 'https://login.example';

test('a path on this origin is where the person goes on', () => {
  for (const path of ['/device?user_code=BCDF-GHJK', '/account', '/', '/device?next=//evil.example#part']) {
    expect(safeNext(path, origin)).toBe(path);
  }
});

test('nothing that leaves this origin or goes in circles is followed', () => {
  const refused = [
    null,
    undefined,
    '',
    'account',
    'https://evil.example/',
    'https://login.example/account',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '/\\/evil.example',
    '\\\\evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    ' //evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    '/login?next=/login',
    '/magic-link',
    `/${'a'.repeat(3000)}`,
  ];
  for (const wanted of refused) expect(safeNext(wanted, origin)).toBe(home);
});

test('the login page gets back exactly the path it was given', () => {
  const next = '/device?user_code=BCDF-GHJK';
  for (const [path, isForOther] of [
    [loginPath(next), false],
    [switchAccountPath(next), true],
  ] as const) {
    const query = new URL(path, origin).searchParams;
    expect(query.get('next')).toBe(next);
    expect(isSwitchingAccount(query)).toBe(isForOther);
  }
});
