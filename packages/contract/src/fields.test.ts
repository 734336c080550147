import { describe, expect, test } from 'bun:test';
import type { Endpoint } from './endpoint.ts';
import { endpoints } from './endpoints.ts';
import { errorStatus } from './errors.ts';
import { emailAddress, pagination } from './fields.ts';

const valid = [
  'a@b',
  'ada@example.com',
  'Ada.Lovelace+tag@sub.example.co.uk',
  "o'brien@example.com",
  '#$&*+-/=?^_`{|}~@example.com',
  'ada=?x@example.com',
  `${'a'.repeat(64)}@example.com`,
  `a@${`${'b'.repeat(61)}.`.repeat(4)}x`.padEnd(254, 'x').slice(0, 254),
  '\u7528\u6237@xn--fsqu00a.example',
  'ada@xn--bcher-kva.example',
  'ada@XN--bcher-kva.example',
  'Ada@EXAMPLE.com',
  'ada@b\u00fccher.example',
  'Ada@B\u00fccher.EXAMPLE',
  'ada@fa\u00df.example',
  'a@\u4f8b\u5b50.example',
  'a@l\u00b7l.example',
  'a@\u4f8b\u5b50.xn--bcher-kva.example',
  '1@1.x2',
];
const invalid = [
  ...[
    '',
    'a',
    'a@',
    '@b',
    'a@b@c',
    'a b@c',
    'a@b c',
    'a@b\n',
    '\ta@b',
    'a@b.',
    'a@.b',
    'a@b..c',
    '.a@b',
    'a.@b',
    'a..b@c',
  ],
  ...['evil%evil.example@corp.example', 'evil.example!evil@corp.example', '%@b', '!@b', '=?@b'],
  '=?utf-8?q?evil?=x@corp.example',
  ...[
    'a@-b',
    'a@b-',
    'a@b-.c',
    'a@b.-c',
    'a,b@c',
    'a@b,c@d',
    'a@b;c@d',
    ' a@b',
    'a@b ',
    '"a b"@c',
    'a@[127.0.0.1]',
    'a:b@c;',
    'a;b@c',
    'a:b@c',
    '<a@b>',
    'A <a@b>',
    'a"b@c',
    '(a)b@c',
    'a\\b@c',
    'a@[::1]',
  ],
  ...[
    'a@b\r\nBcc: c@d',
    'a@b\u0000',
    'a\u00a0@b',
    'a\u2028@b',
    'a\u200b@b',
    'a\u202e@b',
    'a\ud800@b',
    'a@b_c',
    'a@b/c',
    'a@b%c',
  ],
  ...[
    'v@\uff47mail.com',
    'v@gmai\u2113.com',
    'v@\ufb01.example',
    'v@B\u00dcCHER.example',
    'v@bu\u0308cher.example',
    'v@\u212a.example',
    'v@\u00c5.example',
    'v@a\u034fb.example',
    'v@a\u00adb.example',
    'v@a\u200db.example',
    'v@a\u3002b',
    'v@a\uff0eb',
    'v@\u2460.example',
    'v@stra\u1e9ee.example',
    'v@b\u00fccher\uff61example',
    'v@-b\u00fccher.example',
    'v@b\u00fccher-.example',
    'v@b\u00fccher_.example',
    `v@${'\u00fc'.repeat(63)}.example`,
    `${'a'.repeat(64)}@${`${'\u00fc'.repeat(30)}.`.repeat(5)}example`,
    'a@127.0.0.1',
    'a@0x7f.1',
    '1@1.2',
    'v@xn--zzzzzz.example',
    'v@xn--.example',
  ],
  `${'a'.repeat(65)}@b`,
  `a@${'b'.repeat(253)}`,
  'x'.repeat(100_000),
];

describe('email addresses', () => {
  test.each(valid)('the email address %p is accepted', (address) => {
    expect(emailAddress.safeParse(address).data).toBe(address);
  });
  test.each(invalid.map((address) => [address.slice(0, 40), address]))(
    'the email address %p is rejected',
    (_, address) => {
      expect(emailAddress.safeParse(address).success).toBe(false);
    },
  );
});

test('a page has 50 entries by default, and the limit must be a whole number from 1 to 100', () => {
  expect(pagination.parse({}).limit).toBe(50);
  for (const limit of ['1', '50', '100']) expect(pagination.parse({ limit }).limit).toBe(Number(limit));
  for (const limit of ['0', '101', '-1', '1.0', '', ' 1', '1e2', '\u0661', 1]) {
    expect(pagination.safeParse({ limit }).success).toBe(false);
  }
});

test('each operation is keyed by its id, and no two share a method and path', () => {
  const all = Object.entries(endpoints);
  for (const [name, { id }] of all) expect(id).toBe(name as typeof id);
  expect(new Set(all.map(([, { method, path }]) => `${method} ${path}`)).size).toBe(all.length);
});

test('every error code of an operation has a 4xx or 5xx status', () => {
  for (const { errors } of Object.values<Endpoint>(endpoints)) {
    expect(Object.keys(errorStatus)).toEqual(expect.arrayContaining(Object.keys(errors)));
  }
  for (const status of Object.values(errorStatus)) expect(status).toBeWithin(400, 504);
});
