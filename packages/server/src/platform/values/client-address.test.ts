import { expect, test } from 'bun:test';
import { signInByMail } from '#support/account.ts';
import { openApp } from '#support/app.ts';
import { readConfig } from '../../settings.ts';
import {
  addressKey,
  clientAddress,
  maxRemembered,
  maxUserAgentLength,
  networkKey,
  readClientInfo,
  sameNetwork,
} from './client-address.ts';

const nets = '10.0.0.0/8, 2001:db8:1::/48, 192.0.2.7';

test.each<[string, string | undefined, string | null, string | null, string?]>([
  ['no header: the peer', '10.0.0.1', null, '10.0.0.1'],
  ['the header of an untrusted peer is ignored', '198.51.100.9', '203.0.113.5', '198.51.100.9'],
  ['entries before the one of the proxy are ignored', '10.0.0.1', '1.2.3.4, 203.0.113.5', '203.0.113.5'],
  ['three trusted hops of both families', '192.0.2.7', '203.0.113.5,2001:db8:1::9 , 10.1.1.1', '203.0.113.5'],
  ['a spoofed trusted address behind an untrusted one', '10.0.0.1', '10.0.0.2, 203.0.113.5', '203.0.113.5'],
  ['only trusted hops: the first one', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['an IPv6 client in long notation', '10.0.0.1', '2001:0DB8:0002:0:0:0:0:5', '2001:db8:2::5'],
  ['an IPv6 proxy', '2001:db8:1::1', '203.0.113.5', '203.0.113.5'],
  ['an IPv4-mapped peer is an IPv4 address', '::ffff:10.0.0.1', '203.0.113.5', '203.0.113.5'],
  ['an IPv4-mapped client is an IPv4 address', '10.0.0.1', '::ffff:203.0.113.5', '203.0.113.5'],
  ['garbage ends the chain at the proxy', '10.0.0.1', '203.0.113.5, unknown', '10.0.0.1'],
  ['an empty entry ends the chain at the proxy', '10.0.0.1', '203.0.113.5, ', '10.0.0.1'],
  ['a bare number is not an address', '10.0.0.1', '3405803781', '10.0.0.1'],
  ['a port is dropped', '10.0.0.1', '203.0.113.5:4711', '203.0.113.5'],
  ['a port after an IPv6 address is dropped', '10.0.0.1', '[2001:db8:2::5]:4711', '2001:db8:2::5'],
  ['a zone is dropped', 'fe80::1%eth0', null, 'fe80::1'],
  ['thousands of hops', '10.0.0.1', `203.0.113.5${',10.0.0.9'.repeat(5000)}`, '203.0.113.5'],
  ['without trusted proxies the header is ignored', '10.0.0.1', '203.0.113.5', '10.0.0.1', ''],
  [
    'an IPv4-mapped proxy matches its IPv4 address',
    '10.0.0.1',
    '203.0.113.5',
    '203.0.113.5',
    '::ffff:10.0.0.1',
  ],
  ['no peer', undefined, '203.0.113.5', null, '0.0.0.0/0'],
  ['a peer that is no address', 'somewhere', '203.0.113.5', null, '0.0.0.0/0'],
])('the client address behind proxies: %s', (_, peer, forwarded, client, LATCHKEY_TRUSTED_PROXIES = nets) => {
  const { trustedProxies } = readConfig({ LATCHKEY_TRUSTED_PROXIES });
  expect(clientAddress(peer, forwarded, trustedProxies)).toBe(client);
});

test.each([
  ['192.0.2.1', '192.0.2.254', true],
  ['192.0.2.1', '192.0.3.1', false],
  ['::ffff:192.0.2.1', '192.0.2.9', true],
  ['2001:db8:0:1::1', '2001:db8:0:1:ffff::9', true],
  ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
  ['192.0.2.1', '2001:db8::1', false],
  ['192.0.2.1', null, false],
  [null, null, false],
  ['x', 'x', false],
])('%s and %s are in the same network: %p', (one, other, same) => {
  expect(sameNetwork(one, other)).toBe(same);
  expect(sameNetwork(other, one)).toBe(same);
});

test.each([
  ['203.0.113.5', '203.0.113.5/32', '203.0.113.0/24'],
  ['::ffff:203.0.113.5', '203.0.113.5/32', '203.0.113.0/24'],
  ['2001:db8:0:1:aaaa:bbbb:cccc:dddd', '2001:db8:0:1::/64', '2001:db8:0:1::/64'],
  ['2001:0DB8:0000:0001::', '2001:db8:0:1::/64', '2001:db8:0:1::/64'],
  ['garbage', 'unknown', 'unknown'],
  [null, 'unknown', 'unknown'],
])('%s is counted by the address key %s and the network key %s', (address, client, network) => {
  expect([addressKey(address), networkKey(address)]).toEqual([client, network]);
});

test('a session is listed with the client address reported by the trusted proxies', async () => {
  const t = await openApp('sqlite', { settings: { LATCHKEY_TRUSTED_PROXIES: '10.0.0.0/8' } });
  const headers = { 'X-Forwarded-For': '6.6.6.6, 203.0.113.5, 10.2.2.2' };
  const { body } = await signInByMail(t, 'ada@example.com', { peer: '10.0.0.1', headers });
  const { body: list } = await t.ask('GET', '/sessions', { token: body.access_token });
  expect(list.sessions[0].ip_address).toBe('203.0.113.5');
});

test('more addresses than are remembered stay distinct, the first time and again, and one that is too long to be remembered is read', () => {
  const addresses = Array.from({ length: maxRemembered + 10 }, (_, n) => `10.1.${n >> 8}.${n & 255}`);
  for (let round = 0; round < 2; round++) {
    expect(addresses.map((address) => clientAddress(address, null, []))).toEqual(addresses);
    expect(clientAddress('10.1.1.256', null, [])).toBeNull();
  }
  expect(clientAddress(`${' '.repeat(100)}10.1.2.3`, null, [])).toBe('10.1.2.3');
});

test.each([
  ['a\u0001b\u001b[31mc\u007f\u009b2J', 'ab[31mc2J'],
  ['x'.repeat(5000), 'x'.repeat(maxUserAgentLength)],
  [`'"><script>alert(1)</script>`, `'"><script>alert(1)</script>`],
  ['\u0080\u0081', null],
])('of the user agent %j, %j is recorded', (text, userAgent) => {
  const request = new Request('http://localhost', { headers: { 'User-Agent': text } });
  expect(readClientInfo([], { request, connection: { peer: undefined } })).toEqual({
    ipAddress: null,
    userAgent,
  });
});
