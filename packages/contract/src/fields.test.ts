import { expect, test } from 'bun:test';
import { endpoints } from './endpoints.ts';
import { emailAddress } from './fields.ts';

test.each([
  'a@b',
  'Ada.Lovelace+tag@sub.EXAMPLE.co.uk',
  "o'brien@example.com",
  '#$&*+-/=?^_`{|}~@example.com',
  `${'a'.repeat(64)}@example.com`,
  `a@${`${'b'.repeat(61)}.`.repeat(4)}x`.padEnd(254, 'x').slice(0, 254),
  '\u7528\u6237@xn--fsqu00a.example',
  'ada@XN--bcher-kva.example',
  'Ada@B\u00fccher.EXAMPLE',
  'ada@fa\u00df.example',
  'a@l\u00b7l.example',
  'a@\u4f8b\u5b50.xn--bcher-kva.example',
  '1@1.x2',
])('the email address %p is accepted and kept as it is', (address) => {
  expect(emailAddress.safeParse(address).data).toBe(address);
});

// domains.test.ts compares international domains with what browsers do.
test.each([
  ['a missing part', ['', 'a', 'a@', '@b', 'a@b@c']],
  [
    'a space or another separator',
    ['a b@c', 'a@b c', ' a@b', 'a@b ', '\ta@b', 'a@b\n', 'a\u00a0@b', 'a\u2028@b'],
  ],
  [
    'a control or an invisible character',
    ['a@b\u0000', 'a\u200b@b', 'a\u202e@b', 'a\ud800@b', 'a@b\r\nBcc: c@d'],
  ],
  [
    'a dot or a hyphen at an edge',
    ['a@b.', 'a@.b', 'a@b..c', '.a@b', 'a.@b', 'a..b@c', 'a@-b', 'a@b-', 'a@b-.c', 'a@b.-c'],
  ],
  ['a route to somewhere else', ['a%b@c', 'b!a@c', '%@b', '!@b', '=?@b', '=?utf-8?q?a?=x@b']],
  ['more than one mailbox', ['a,b@c', 'a@b,c@d', 'a@b;c@d', 'a:b@c', 'a:b@c;', 'a;b@c']],
  ['a name, quotes or a comment', ['<a@b>', 'A <a@b>', 'a"b@c', '"a b"@c', '(a)b@c', 'a\\b@c']],
  ['an IP address', ['a@[127.0.0.1]', 'a@[::1]', 'a@127.0.0.1', 'a@0x7f.1', '1@1.2']],
  [
    'a domain that is none',
    ['a@b_c', 'a@b/c', 'a@b%c', 'v@xn--.example', 'v@xn--zzzzzz.example', 'v@-b\u00fccher.example'],
  ],
  [
    'a domain that mapping changes',
    ['v@\uff47mail.com', 'v@gmai\u2113.com', 'v@B\u00dcCHER.example', 'v@a\u3002b', 'v@a\u00adb.example'],
  ],
  [
    'a part that is too long',
    [`${'a'.repeat(65)}@b`, `a@${'b'.repeat(64)}`, `v@${'\u00fc'.repeat(63)}.example`],
  ],
  [
    'more than 254 characters, as written or in ASCII',
    [
      `a@${'b.'.repeat(126)}c`,
      `${'a'.repeat(64)}@${`${'\u00fc'.repeat(30)}.`.repeat(5)}example`,
      'x'.repeat(100_000),
    ],
  ],
])('an email address with %s is refused', (_, addresses) => {
  const accepted = addresses.filter((address) => emailAddress.safeParse(address).success);
  expect(accepted).toEqual([]);
});

test('each operation is keyed by its id, and no two share a method and path', () => {
  const all = Object.entries(endpoints);
  for (const [name, { id }] of all) expect(id).toBe(name as typeof id);
  expect(new Set(all.map(([, { method, path }]) => `${method} ${path}`)).size).toBe(all.length);
});
