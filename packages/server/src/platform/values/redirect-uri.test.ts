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
  ['no absolute URL', ['', 'callback', '//app.example/', 'https:/app.example/', ' https://app.example/']],
  ['another spelling than its own', ['https://app.example', 'HTTPS://app.example/', 'https://App.example/']],
  ['the port that is the default', ['https://app.example:443/', 'http://127.0.0.1:80/']],
  ['steps within its path', ['https://a.example/../a', 'https://a.example/a/./b']],
  ['steps within its path', ['https://a.example/%2e%2e/a']],
  ['a backslash, a space or a tab', ['https://a.example\\@b.example/', 'https://a.example/a b']],
  ['a backslash, a space or a tab', ['https://a.example/\ta']],
  ['a wildcard', ['https://*.app.example/', 'https://*/']],
  ['a fragment', ['https://app.example/#', 'https://app.example/#part']],
  ['user information', ['https://ada@app.example/', 'https://ada:x@app.example/', 'https://@app.example/']],
  ['a host that is not in ASCII', ['https://b\u00fccher.example/']],
  ['http on another host than this machine', ['http://app.example/', 'http://localhost.example/']],
  ['http on another host than this machine', ['http://localhost./', 'http://app.localhost/']],
  ['another spelling of this machine', ['http://127.0.0.2/', 'http://127.1/']],
  ['another spelling of this machine', ['http://2130706433/', 'http://[::ffff:127.0.0.1]/']],
  ['another scheme', ['javascript:alert(1)', 'data:text/html,x', 'com.example.app:/callback']],
  ['too many characters', [`https://app.example/${'x'.repeat(fieldLimits.redirectUri - 19)}`]],
])('what has %s is no redirect URI', (_, uris) => {
  expect(uris.filter((uri) => parseRedirectUri(uri) !== undefined)).toEqual([]);
});

test.each([
  ['https://a.example/b', 'https://a.example/b', true],
  ['https://a.example/b', 'https://a.example/B', false],
  ['https://a.example/b', 'http://127.0.0.1/b', false],
  ['http://127.0.0.1:1234/b', 'http://127.0.0.1:41234/b', true],
  ['http://127.0.0.1:1234/b', 'http://127.0.0.1/b', true],
  ['http://[::1]/b', 'http://[::1]:1/b', true],
  ['http://localhost/b', 'http://localhost:1/b', true],
  ['http://localhost/b', 'http://127.0.0.1:1/b', false],
  ['http://127.0.0.1/b', 'http://127.0.0.1:1/c', false],
  ['https://localhost/b', 'https://localhost:1/b', false],
])('%s allows %s: %p', (registered, requested, expected) => {
  expect(allowsRedirect(registered, requested)).toBe(expected);
});

test('an address that some comparison, or some browser, takes for the registered one is not allowed', () => {
  const registered = 'https://a.example/b';
  const similar = [
    ...['http://a.example/b', 'https://evil.example/b', 'https://a.example.evil.example/b'],
    ...['https://evil.example/a.example/b', 'https://a.example@evil.example/b'],
    ...['https://evil.example\\@a.example/b', 'https://evil.example\\.a.example/b'],
    ...['https://evil.example#@a.example/b', 'https://evil.example?@a.example/b'],
    ...[
      'https://sub.a.example/b',
      'https://a.example./b',
      'https://a.example:444/b',
      'https://a.example:443/b',
    ],
    ...['https://A.EXAMPLE/b', 'HTTPS://a.example/b', 'https:/a.example/b', 'https:\\\\a.example/b'],
    ...['//a.example/b', '//evil.example/b', '/b', 'javascript:alert(1)//a.example/b'],
    ...[`data:text/html,${registered}`, 'https://\u0430.example/b', 'https://%61.example/b'],
    ...['/', '/../evil', '/..', '%2e%2e/evil', '?next=https://evil.example', '#x', '#', '?', ';x'].map(
      (more) => registered + more,
    ),
    ...[' ', '\t', '\0', ',https://evil.example/', ' https://evil.example/'].map((more) => registered + more),
    ...[' ', '\t', '\u2066'].map((first) => first + registered),
  ];
  expect(similar.filter((uri) => allowsRedirect(registered, uri))).toEqual([]);
});
