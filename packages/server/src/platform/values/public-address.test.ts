import { expect, test } from 'bun:test';
import { isPublicAddress } from '../outgoing/fetch-document.ts';

test.each([
  ...['8.8.8.8', '93.184.216.34', '100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.1'],
  ...['2606:4700:4700::1111', '2a00:1450:4001:81b::200e'],
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  // This host, private, shared, loopback, link-local with its metadata service
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.254', '127.0.0.1', '127.255.255.254'],
  ...['169.254.0.1', '169.254.169.254', '172.16.0.1', '172.31.255.254', '192.168.1.1'],
  // Protocol assignments, documentation, 6to4 relays, benchmarks, multicast, reserved, broadcast
  ...['192.0.0.1', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.19.255.254', '198.51.100.1'],
  ...['203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
  // Unspecified, loopback, IPv4-compatible, mapped and translated
  ...['::', '::1', '::10.0.0.1', '::8.8.8.8', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::ffff:0:10.0.0.1'],
  ...['64:ff9b::10.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::10.0.0.1', '2002:0a00:0001::1', '2002:808:808::1'],
  // Discard, Teredo, benchmarks, ORCHID, documentation
  ...['100::1', '2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:2::1', '2001:10::1', '2001:20::1'],
  ...['2001:db8::1', '3fff::1', '5f00::1'],
  // Unique local, link-local, site-local, multicast, zones
  ...['fc00::1', 'fd00::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', '2606:4700::1%1'],
  // Other spellings, and none
  ...['127.1', '0x7f000001', '2130706433', '010.0.0.1', '8.8.8', '', 'localhost', '[::1]', '8.8.8.8:80'],
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});
