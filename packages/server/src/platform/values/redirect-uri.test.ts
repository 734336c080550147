import { expect, test } from 'bun:test';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { allowsRedirect, parseRedirectUri } from './redirect-uri.ts';

test.each([
  'https://app.example/',
  'https://app.example/callback?tenant=1',
  'https://app.example:8443/a%20b',
  'https://xn--bcher-kva.example/',
  'https://10.0.0.1/',
  'http://127.0.0.1/',
  'http://127.0.0.1:41234/a',
  'http://[::1]:3000/a',
  'http://localhost/a?b=c',
  `https://app.example/${'x'.repeat(fieldLimits.redirectUri - 20)}`,
])('%s is a redirect URI', (uri) => {
  expect(parseRedirectUri(uri)?.href).toBe(uri);
});

test.each([
  '',
  'callback',
  '//app.example/',
  'https://app.example',
  'HTTPS://app.example/',
  'https://App.example/',
  'https://app.example:443/',
  'https://app.example/../a',
  'https://app.example/a/./b',
  'https://app.example/%2e%2e/a',
  'https://app.example\\@evil.example/',
  'https:/app.example/',
  'https://app.example/#',
  'https://*.app.example/',
  'https://*/',
  'https://app.example/#part',
  'https://user@app.example/',
  'https://user:password@app.example/',
  'https://@app.example/',
  'https://app.example/a b',
  'https://app.example/\ta',
  ' https://app.example/',
  'https://bücher.example/',
  'http://app.example/',
  'http://127.0.0.2/',
  'http://127.1/',
  'http://2130706433/',
  'http://[::ffff:127.0.0.1]/',
  'http://localhost.example/',
  'http://localhost./',
  'http://app.localhost/',
  'javascript:alert(1)',
  'data:text/html,x',
  'com.example.app:/callback',
  'http://127.0.0.1:80/',
  `https://app.example/${'x'.repeat(fieldLimits.redirectUri - 19)}`,
])('%j is no redirect URI', (uri) => {
  expect(parseRedirectUri(uri)).toBeUndefined();
});

const pairs: readonly (readonly [string, string, boolean])[] = [
  ['https://a.example/b', 'https://a.example/b', true],
  ['https://a.example/b', 'https://a.example/b/', false],
  ['https://a.example/b', 'https://a.example/B', false],
  ['https://a.example/b', 'https://a.example/b?c', false],
  ['https://a.example/b', 'https://a.example:8443/b', false],
  ['https://a.example/b', 'https://evil.example/b', false],
  ['https://a.example/b', 'http://127.0.0.1/b', false],
  ['http://127.0.0.1/b', 'http://127.0.0.1:41234/b', true],
  ['http://127.0.0.1:1234/b', 'http://127.0.0.1:41234/b', true],
  ['http://127.0.0.1:1234/b', 'http://127.0.0.1/b', true],
  ['http://[::1]/b', 'http://[::1]:1/b', true],
  ['http://localhost/b', 'http://localhost:1/b', true],
  ['http://localhost/b', 'http://127.0.0.1:1/b', false],
  ['http://127.0.0.1/b', 'http://[::1]:1/b', false],
  ['http://127.0.0.1/b', 'http://127.0.0.1:1/c', false],
  ['https://localhost/b', 'https://localhost:1/b', false],
];
for (const [registered, requested, expected] of pairs)
  test(`${registered} ${expected ? 'allows' : 'does not allow'} ${requested}`, () => {
    expect(allowsRedirect(registered, requested)).toBe(expected);
  });
