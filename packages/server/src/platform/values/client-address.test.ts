import { expect, test } from 'bun:test';
import { openApp } from '../../../../../tests/support/app.ts';
import { readConfig } from '../config/config.ts';
import { addressKey, clientAddress, networkKey, sameNetwork } from './client-address.ts';

const trusting = (list: string) => readConfig({ LATCHKEY_TRUSTED_PROXIES: list }).trustedProxies;

const nets = '10.0.0.0/8, 2001:db8:1::/48, 192.0.2.7';

test.each([
  ['without a header it is the peer', '10.0.0.1', null, '10.0.0.1'],
  ['an untrusted peer is never believed', '198.51.100.9', '203.0.113.5', '198.51.100.9'],
  ['one hop', '10.0.0.1', '203.0.113.5', '203.0.113.5'],
  [
    'what a client put before the proxy’s entry is not believed',
    '10.0.0.1',
    '1.2.3.4, 203.0.113.5',
    '203.0.113.5',
  ],
  ['two trusted hops', '10.0.0.1', '203.0.113.5, 10.9.9.9', '203.0.113.5'],
  ['three trusted hops of both families', '192.0.2.7', '203.0.113.5,2001:db8:1::9 , 10.1.1.1', '203.0.113.5'],
  ['a spoofed trusted address behind an untrusted one', '10.0.0.1', '10.0.0.2, 203.0.113.5', '203.0.113.5'],
  ['only trusted hops: the outermost', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['an IPv6 client', '10.0.0.1', '2001:db8:2::5', '2001:db8:2::5'],
  ['an IPv6 client in another spelling', '10.0.0.1', '2001:0DB8:0002:0:0:0:0:5', '2001:db8:2::5'],
  ['an IPv6 proxy', '2001:db8:1::1', '203.0.113.5', '203.0.113.5'],
  ['a peer in mapped form is the IPv4 one', '::ffff:10.0.0.1', '203.0.113.5', '203.0.113.5'],
  ['a mapped client is the IPv4 one', '10.0.0.1', '::ffff:203.0.113.5', '203.0.113.5'],
  ['garbage ends the chain at the proxy', '10.0.0.1', '203.0.113.5, unknown', '10.0.0.1'],
  ['an empty entry ends the chain at the proxy', '10.0.0.1', '203.0.113.5, ', '10.0.0.1'],
  ['a bare number is no address', '10.0.0.1', '3405803781', '10.0.0.1'],
  ['markup is no address', '10.0.0.1', '<script>', '10.0.0.1'],
  ['a port is left out', '10.0.0.1', '203.0.113.5:4711', '203.0.113.5'],
  ['a port after an IPv6 address is left out', '10.0.0.1', '[2001:db8:2::5]:4711', '2001:db8:2::5'],
  ['two hops of both families with ports', '10.0.0.1', '203.0.113.5:1, [2001:db8:1::9]:2', '203.0.113.5'],
  ['a zone is left out', 'fe80::1%eth0', null, 'fe80::1'],
])('%s', (_, peer, forwarded, client) => {
  expect(clientAddress(peer, forwarded, trusting(nets))).toBe(client);
});

test('without trusted proxies the header is ignored, and without a peer there is no address', () => {
  expect(clientAddress('10.0.0.1', '203.0.113.5', [])).toBe('10.0.0.1');
  expect(clientAddress(undefined, '203.0.113.5', trusting('0.0.0.0/0'))).toBeNull();
  expect(clientAddress('somewhere', '203.0.113.5', trusting('0.0.0.0/0'))).toBeNull();
});

test('a header of any length is walked once', () => {
  const hops = Array.from({ length: 5000 }, () => '10.0.0.9').join(',');
  expect(clientAddress('10.0.0.1', `203.0.113.5,${hops}`, trusting(nets))).toBe('203.0.113.5');
});

test('a trusted proxy named in mapped form is the IPv4 one', () => {
  expect(clientAddress('10.0.0.1', '203.0.113.5', trusting('::ffff:10.0.0.1'))).toBe('203.0.113.5');
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
])('%s and %s are in one network: %p', (one, other, same) => {
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
])('%s is counted as the client %s of the network %s', (address, client, network) => {
  expect([addressKey(address), networkKey(address)]).toEqual([client, network]);
});

test('a session is listed with the address that the trusted proxies tell', async () => {
  const t = await openApp('sqlite', { settings: { LATCHKEY_TRUSTED_PROXIES: '10.0.0.0/8' } });
  await t.ask('POST', '/magic_link', { json: { email: 'ada@example.com' } });
  const [mail] = await t.mails();
  const { body } = await t.ask('POST', '/magic_link/verify', {
    json: { token: mail!.token },
    peer: '10.0.0.1',
    headers: { 'X-Forwarded-For': '6.6.6.6, 203.0.113.5, 10.2.2.2' },
  });
  const { body: list } = await t.ask('GET', '/sessions', { token: body.access_token });
  expect(list.sessions[0].ip_address).toBe('203.0.113.5');
  await t.close();
});
