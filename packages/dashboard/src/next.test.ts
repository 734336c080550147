import { expect, test } from 'bun:test';
import { home, isSwitchingAccount, loginPath, safeNext, signInQuery, switchAccountPath } from './next.ts';

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
    ...['/login?next=/login', '/magic-link', `/${'a'.repeat(17_000)}`],
  ];
  for (const wanted of refused) expect(safeNext(wanted, origin)).toBe(home);
});

test('the sign-in page receives exactly the path to return to, however long, in a URL that can be requested', () => {
  for (const next of ['/device?user_code=BCDF-GHJK', `/authorize?state=${'%F0%9F%98%80'.repeat(1_024)}`])
    for (const [path, isSwitching] of [
      [loginPath(next), false],
      [switchAccountPath(next), true],
    ] as const) {
      const url = new URL(path, origin);
      expect(url.search.length).toBeLessThan(8_000);
      expect(safeNext(signInQuery(url).get('next'), origin)).toBe(next);
      expect(isSwitchingAccount(signInQuery(url))).toBe(isSwitching);
    }
});
