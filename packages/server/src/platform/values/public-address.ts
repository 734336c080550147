import ipaddr from 'ipaddr.js';

/** Global unicast: everything outside is local, multicast, translated to IPv4 or not assigned. @see RFC 4291 section 2.4 */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** Within global unicast, but not the address of one host of its own that the library knows as such. */
const special: readonly [ipaddr.IPv6, number][] = [
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map((range) => ipaddr.IPv6.parseCIDR(range));

/**
 * Whether an IP address is one of the public internet: not private, shared, local, mapped or translated to IPv4, nor reserved.
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export function isPublicAddress(text: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text).range() === 'unicast';
  if (!ipaddr.IPv6.isValid(text)) return false;
  const address = ipaddr.IPv6.parse(text);
  return (
    address.zoneId === undefined &&
    address.match(globalUnicast) &&
    !special.some((range) => address.match(range)) &&
    address.range() === 'unicast'
  );
}
