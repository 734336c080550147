import { expect, test } from 'bun:test';
import { home, isSwitchingAccount, loginPath, safeNext, switchAccountPath } from './next.ts';

const origin = 'https://login.example';

test('a path on this origin is accepted as the page to continue to', () => {
  for (const path of ['/device?user_code=BCDF-GHJK', '/account', '/', '/device?next=//evil.example#part']) {
    expect(safeNext(path, origin)).toBe(path);
  }
});

test('a path that leaves this origin or loops back to signing in is replaced by the account page', () => {
  const refused = [
    ...[null, undefined, '', 'account', 'https://evil.example/', 'https://login.example/account'],
    ...['//evil.example', '///evil.example', '/\\evil.example', '/\\/evil.example', '\\\\evil.example'],
    ...['/.//evil.example', '/a/..//evil.example', '/%2e//evil.example', ' //evil.example'],
    ...['/\t/evil.example', '/\n/evil.example', 'javascript:alert(1)', 'data:text/html,x'],
    ...['/login?next=/login', '/magic-link', `/${'a'.repeat(11_000)}`],
  ];
  for (const wanted of refused) expect(safeNext(wanted, origin)).toBe(home);
});

test('the sign-in page receives exactly the path to return to', () => {
  const next = '/device?user_code=BCDF-GHJK';
  for (const [path, isSwitching] of [
    [loginPath(next), false],
    [switchAccountPath(next), true],
  ] as const) {
    const query = new URL(path, origin).searchParams;
    expect(query.get('next')).toBe(next);
    expect(isSwitchingAccount(query)).toBe(isSwitching);
  }
});
